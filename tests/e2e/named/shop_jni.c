// SPDX-License-Identifier: MIT OR Apache-2.0
// The native library of Shop.java; and, as an agent of the JVM, what tells perf and Memoir which
// Java method is where: /tmp/perf-PID.map.
#include <jni.h>
#include <jvmti.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *kept[200000];
static unsigned kept_count;

JNIEXPORT jlong JNICALL Java_Shop_holdNames(JNIEnv *env, jclass c, jint n)
{
	for (int i = 0; i < n; i++)
		snprintf(kept[kept_count++] = malloc(30 + i % 7), 30, "name %d", i);
	return kept_count;
}

JNIEXPORT jlong JNICALL Java_Shop_holdPages(JNIEnv *env, jclass c, jint n)
{
	for (int i = 0; i < n; i++)
		memset(kept[kept_count++] = malloc(4096 + i), 1, 4096);
	return kept_count;
}

JNIEXPORT jbyteArray JNICALL Java_Shop_makeTable(JNIEnv *env, jclass c, jint n)
{
	int *table = calloc(n, sizeof(*table));
	jbyteArray made = (*env)->NewByteArray(env, n);

	kept[kept_count++] = malloc(n);
	(*env)->SetByteArrayRegion(env, made, 0, n, (jbyte *)table);
	free(table);
	return made;
}

static FILE *map;
static pthread_mutex_t map_lock = PTHREAD_MUTEX_INITIALIZER;

static void JNICALL compiled(jvmtiEnv *e, jmethodID method, jint size, const void *address,
			     jint length, const jvmtiAddrLocationMap *lines, const void *info)
{
	char *name = NULL, *class_name = NULL;
	jclass owner;

	if ((*e)->GetMethodName(e, method, &name, NULL, NULL) ||
	    (*e)->GetMethodDeclaringClass(e, method, &owner) ||
	    (*e)->GetClassSignature(e, owner, &class_name, NULL))
		return;
	pthread_mutex_lock(&map_lock);
	fprintf(map, "%lx %x %.*s::%s\n", (unsigned long)address, (unsigned)size,
		(int)strlen(class_name) - 2, class_name + 1, name);
	fflush(map);
	pthread_mutex_unlock(&map_lock);
}

static void JNICALL generated(jvmtiEnv *e, const char *name, const void *address, jint size)
{
	pthread_mutex_lock(&map_lock);
	fprintf(map, "%lx %x %s\n", (unsigned long)address, (unsigned)size, name);
	fflush(map);
	pthread_mutex_unlock(&map_lock);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	jvmtiCapabilities can = { .can_generate_compiled_method_load_events = 1 };
	jvmtiEventCallbacks calls = { .CompiledMethodLoad = compiled,
				      .DynamicCodeGenerated = generated };
	char path[64];
	jvmtiEnv *e;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (!map || (*vm)->GetEnv(vm, (void **)&e, JVMTI_VERSION_1_2) ||
	    (*e)->AddCapabilities(e, &can) || (*e)->SetEventCallbacks(e, &calls, sizeof(calls)))
		return 1;
	(*e)->SetEventNotificationMode(e, JVMTI_ENABLE, JVMTI_EVENT_COMPILED_METHOD_LOAD, NULL);
	(*e)->SetEventNotificationMode(e, JVMTI_ENABLE, JVMTI_EVENT_DYNAMIC_CODE_GENERATED, NULL);
	return 0;
}
