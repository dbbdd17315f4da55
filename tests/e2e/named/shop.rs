// SPDX-License-Identifier: MIT OR Apache-2.0
// The same in Rust: vectors, maps, strings, boxes, iterators, traits and closures.
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

mod shop {
    use super::*;

    pub struct Item {
        pub name: String,
        pub prices: Vec<f64>,
    }

    pub trait Describe {
        fn describe(&self) -> String;
    }

    impl Describe for Item {
        #[inline(never)]
        fn describe(&self) -> String {
            format!("{} costs {} or so, as far as anybody knows", self.name, self.prices.len())
        }
    }

    impl Clone for Item {
        #[inline(never)]
        fn clone(&self) -> Item {
            Item { name: self.name.clone(), prices: self.prices.to_vec() }
        }
    }

    #[inline(never)]
    pub fn read_items(n: usize) -> Vec<Box<Item>> {
        let mut items = Vec::new();
        for i in 0..n {
            let prices = (0..10 + i % 20).map(|x| x as f64).collect();
            items.push(Box::new(Item { name: format!("a name of item {}", i), prices }));
        }
        items
    }

    #[inline(never)]
    pub fn index_items(items: &[Box<Item>]) -> HashMap<String, usize> {
        items.iter().enumerate().map(|(i, item)| (item.name.clone(), i)).collect()
    }

    #[inline(never)]
    pub fn describe_items(items: &[Box<Item>]) -> BTreeMap<String, Rc<str>> {
        let mut found = BTreeMap::new();
        for item in items {
            found.insert(item.describe(), Rc::from(item.name.as_str()));
        }
        found
    }

    #[inline(never)]
    pub fn copy_items(items: &[Box<Item>]) -> Vec<Item> {
        items.iter().map(|i| (**i).clone()).collect()
    }

    #[inline(never)]
    pub fn fill_pages(n: usize) -> Vec<Vec<u8>> {
        let mut pages = Vec::with_capacity(n);
        for i in 0..n {
            pages.push(vec![1u8; 4096 + i * 64]);
        }
        pages
    }
}

fn main() {
    let items = shop::read_items(1500);
    let index = shop::index_items(&items);
    let described = shop::describe_items(&items);
    let copies = shop::copy_items(&items);
    let pages = shop::fill_pages(40);
    println!("{} {} {} {}", index.len(), described.len(), copies.len(), pages.len());
    std::mem::forget((items, index, described, copies, pages));
}
