// SPDX-License-Identifier: MIT OR Apache-2.0
// Where the rows of a long table are: all of one height, some with something more below them.
// Millions of rows cost nothing; only what lies below some is remembered.
export class Heights {
	private extras = new Map<number, number>();
	private indexes: number[] = []; /* sorted, of extras */
	private sums: number[] = [0]; /* sums[i]: of the first i extras */

	constructor(
		readonly count: number,
		readonly row: number,
	) {}

	/* What lies below a row; true if that is a change. */
	set(index: number, extra: number): boolean {
		if ((this.extras.get(index) ?? 0) === extra) return false;
		if (extra) this.extras.set(index, extra);
		else this.extras.delete(index);
		this.indexes = [...this.extras.keys()].sort((a, b) => a - b);
		this.sums = [0];
		for (const i of this.indexes)
			this.sums.push(this.sums[this.sums.length - 1]! + this.extras.get(i)!);
		return true;
	}

	extra(index: number): number {
		return this.extras.get(index) ?? 0;
	}

	/* The upper edge of a row; of row `count` it is the height of all. */
	top(index: number): number {
		let low = 0,
			high = this.indexes.length;
		while (low < high) {
			const half = (low + high) >> 1;
			if (this.indexes[half]! < index) low = half + 1;
			else high = half;
		}
		return index * this.row + this.sums[low]!;
	}

	get total(): number {
		return this.top(this.count);
	}

	/* The row at a height, from 0 to count - 1. */
	at(y: number): number {
		let low = 0,
			high = Math.max(0, this.count - 1);
		while (low < high) {
			const half = Math.floor((low + high + 1) / 2);
			if (this.top(half) <= y) low = half;
			else high = half - 1;
		}
		return low;
	}
}
