// SPDX-License-Identifier: MIT OR Apache-2.0
//! Strings that are made and dropped, N times in each of T threads: each grows by realloc.
use std::thread;

fn main() {
    let number = |i| std::env::args().nth(i).unwrap().parse::<usize>().unwrap();
    let (n, threads) = (number(1), number(2));
    let all: Vec<_> = (0..threads)
        .map(|t| thread::spawn(move || (0..n).map(|i| format!("{:06} of {}", i, t).len()).sum::<usize>()))
        .collect();
    println!("{}", all.into_iter().map(|t| t.join().unwrap()).sum::<usize>());
}
