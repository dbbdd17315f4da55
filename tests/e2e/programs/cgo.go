// SPDX-License-Identifier: MIT OR Apache-2.0
// C memory from eight goroutines, and a child: what a Go program with cgo does.
package main

/*
#include <stdlib.h>
#include <string.h>
static char *twice(const char *s) {
	size_t n = strlen(s);
	char *r = malloc(2 * n + 1);
	memcpy(r, s, n);
	memcpy(r + n, s, n + 1);
	return r;
}
*/
import "C"
import (
	"fmt"
	"os/exec"
	"sync"
	"unsafe"
)

func main() {
	var group sync.WaitGroup
	sums := make([]int, 8)
	for i := range sums {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			for k := 0; k < 1000; k++ {
				s := C.CString(fmt.Sprint(i * k))
				t := C.twice(s)
				sums[i] += len(C.GoString(t))
				C.free(unsafe.Pointer(s))
				C.free(unsafe.Pointer(t))
			}
		}(i)
	}
	group.Wait()
	out, err := exec.Command("echo", "a child").Output()
	fmt.Println(sums, string(out), err)
}
