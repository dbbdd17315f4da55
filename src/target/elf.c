/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A loaded file's dynamic symbols.  Reads only; at start-up, on one thread. */
#include "target/elf.h"

#include <elf.h>
#include <string.h>

#include "wire/arch.h"

#ifdef ARCH_DYNAMIC_AS_IN_FILE
#define BASE(map) ((map)->l_addr)
#else
#define BASE(map) 0
#endif

bool elf_read(const struct link_map *map, struct elf_image *ret)
{
	uint64_t functions = DT_RELA;

	*ret = (struct elf_image){ .map = map };
	/* The vdso's table holds offsets where the loader made the others' absolute. */
	if (!map->l_ld || strstr(map->l_name, "linux-vdso"))
		return false;
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		const void *p = (const void *)(BASE(map) + d->d_un.d_ptr);

		switch (d->d_tag) {
		case DT_SYMTAB:
			ret->symbols = p;
			break;
		case DT_STRTAB:
			ret->strings = p;
			break;
		case DT_VERSYM:
			ret->versions = p;
			break;
		case DT_GNU_HASH:
			ret->gnu_hash = p;
			break;
		case DT_HASH:
			ret->sysv_hash = p;
			break;
		case DT_RELA:
			ret->rela[0] = p;
			break;
		case DT_RELASZ:
			ret->rela_size[0] = d->d_un.d_val;
			break;
		case DT_JMPREL:
			ret->rela[1] = p;
			break;
		case DT_PLTRELSZ:
			ret->rela_size[1] = d->d_un.d_val;
			break;
		case DT_PLTREL:
			functions = d->d_un.d_val;
			break;
		case DT_REL:
			ret->rel[0] = p;
			break;
		case DT_RELSZ:
			ret->rel_size[0] = d->d_un.d_val;
			break;
#ifdef ARCH_GOT_BY_SYMBOLS
		case DT_PLTGOT:
			ret->got = (uintptr_t *)p;
			break;
		case DT_MIPS_LOCAL_GOTNO:
			ret->got_first = d->d_un.d_val;
			break;
		case DT_MIPS_GOTSYM:
			ret->got_symbol = d->d_un.d_val;
			break;
		case DT_MIPS_SYMTABNO:
			ret->symbol_count = d->d_un.d_val;
			break;
#endif
		}
	}
	if (functions == DT_REL) {
		ret->rel[1] = (const void *)ret->rela[1];
		ret->rel_size[1] = ret->rela_size[1];
		ret->rela[1] = NULL;
	}
	return ret->symbols && ret->strings;
}

static void *matches(const struct elf_image *image, uint32_t index, const char *name,
		     unsigned wanted)
{
	const ElfW(Sym) *s = &image->symbols[index];
	unsigned type = ELF64_ST_TYPE(s->st_info);
	void *address = (void *)(image->map->l_addr + s->st_value);

	if (s->st_shndx == SHN_UNDEF || !s->st_value || strcmp(image->strings + s->st_name, name))
		return NULL;
	if (image->versions && image->versions[index] & 0x8000) /* an old version, kept hidden */
		return NULL;
	if (type == STT_GNU_IFUNC && wanted == STT_FUNC)
		return ((void *(*)(void))address)();
	return type == wanted ? address : NULL;
}

static void *find_gnu(const struct elf_image *image, const char *name, unsigned wanted)
{
	const uint32_t *table = image->gnu_hash;
	uint32_t bucket_count = table[0], first = table[1], bloom_size = table[2], hash = 5381;
	const uint32_t *buckets = table + 4 + bloom_size * (__ELF_NATIVE_CLASS / 32),
		       *chains = buckets + bucket_count;
	uint32_t i;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (uint8_t)*c;
	for (i = bucket_count ? buckets[hash % bucket_count] : 0; i >= first && i; i++) {
		uint32_t entry = chains[i - first];
		void *p;

		if ((entry | 1) == (hash | 1) && (p = matches(image, i, name, wanted)))
			return p;
		if (entry & 1)
			break;
	}
	return NULL;
}

static void *find_sysv(const struct elf_image *image, const char *name, unsigned wanted)
{
	const uint32_t *table = image->sysv_hash, *chains = table + 2 + table[0];
	uint32_t hash = 0;

	for (const char *c = name; *c; c++) {
		hash = (hash << 4) + (uint8_t)*c;
		hash = (hash ^ (hash & 0xf0000000) >> 24) & 0x0fffffff;
	}
	for (uint32_t i = table[0] ? table[2 + hash % table[0]] : 0; i; i = chains[i]) {
		void *p = matches(image, i, name, wanted);

		if (p)
			return p;
	}
	return NULL;
}

static void *find_symbol(const struct elf_image *image, const char *name, unsigned wanted)
{
	if (image->gnu_hash)
		return find_gnu(image, name, wanted);
	return image->sysv_hash ? find_sysv(image, name, wanted) : NULL;
}

void *elf_find(const struct elf_image *image, const char *name)
{
	return find_symbol(image, name, STT_FUNC);
}

void *elf_find_object(const struct elf_image *image, const char *name)
{
	return find_symbol(image, name, STT_OBJECT);
}
