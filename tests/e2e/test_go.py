# SPDX-License-Identifier: MIT OR Apache-2.0
"""Go programs with parts in C: stacks go from one language to the other and back."""
import os
import shutil
import subprocess

import pytest

import harness

SOURCE = """
package main

/*
#include <stdlib.h>
static __attribute__((noinline)) void *shop_make(size_t size)
{
	void *p = malloc(size);
	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}
extern void goCallback(size_t);
extern void goDeeper(size_t);
static __attribute__((noinline)) void call_back(size_t size)
{
	goCallback(size);
	__asm__ volatile("");
}
static __attribute__((noinline)) void call_deeper(size_t size)
{
	goDeeper(size);
	__asm__ volatile("");
}
*/
import "C"

//export goCallback
func goCallback(size C.size_t) { inside(size) }

//go:noinline
func inside(size C.size_t) { C.shop_make(size) }

//go:noinline
func grow(n int, size C.size_t) int {
	var room [1000]byte
	room[n] = 1
	if n == 0 {
		C.call_back(size)
		return 0
	}
	return grow(n-1, size) + int(room[n])
}

//export goDeeper
func goDeeper(size C.size_t) { deeper(300, size) }

//go:noinline
func deeper(n int, size C.size_t) int {
	var room [1000]byte
	room[n] = 1
	if n == 0 {
		C.shop_make(size)
		return 0
	}
	return deeper(n-1, size) + int(room[n])
}

//go:noinline
func level2(size int) { C.shop_make(C.size_t(size)) }

//go:noinline
func level1(size int) { level2(size) }

func main() {
	level1(5001)
	C.call_back(5002)
	done := make(chan bool)
	for i := 0; i < 50; i++ {
		go func() { level1(5003); done <- true }()
	}
	for i := 0; i < 50; i++ {
		<-done
	}
	go func() { grow(20, 5004); done <- true }()
	<-done
	go func() { C.call_deeper(5005); done <- true }()
	<-done
}
"""
OWN = ("shop_make", "call_back", "main.inside", "main.goCallback", "main.level2", "main.level1",
       "main.grow", "main.deeper", "call_deeper", "main.main", "main.main.func1", "main.main.func2",
       "main.main.func3", "runtime.goexit")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    if not shutil.which("go") or os.uname().machine != "x86_64":
        pytest.skip("no go")
    folder = tmp_path_factory.mktemp("go")
    (folder / "main.go").write_text(SOURCE)
    (folder / "go.mod").write_text("module shop\ngo 1.19\n")
    subprocess.run(["go", "build", "-o", "shop", "."], cwd=folder, check=True,
                   env={**os.environ, "GOFLAGS": "-mod=mod", "GOPROXY": "off", "CGO_ENABLED": "1"})
    return folder / "shop"


@pytest.mark.parametrize("mode", ["run", "preload"])
def test_both_sides(program, record, mode):
    recording = record([program], mode=mode)
    assert recording.status == 0, recording.run
    stacks = {size: {tuple(f for f in stack if f in OWN) for stack in made}
              for size, made in harness.stacks_by_size(recording.path, 5001, 5004).items()}
    assert stacks[5001] == {("shop_make", "main.level2", "main.level1", "main.main",
                             "runtime.goexit")}
    assert stacks[5002] == {("shop_make", "main.inside", "main.goCallback", "call_back",
                             "main.main", "runtime.goexit")}
    assert stacks[5003] == {("shop_make", "main.level2", "main.level1", "main.main.func1",
                             "runtime.goexit")}
    assert stacks[5004] == {("shop_make", "main.inside", "main.goCallback", "call_back",
                             *["main.grow"] * 21, "main.main.func2", "runtime.goexit")}


def test_moved_stack(program, record):
    """Go has moved the goroutine's stack since C was called: what C has saved leads to
    memory that may be another's by now."""
    recording = record([program])
    own = ["shop_make", *["main.deeper"] * 301, "call_deeper"]
    stacks = [[f for f in stack if f in OWN]
              for stack in harness.stacks_by_size(recording.path, 5005, 5005)[5005]]
    assert stacks == [own]
    assert recording.info["stacks_broken"] >= 1
