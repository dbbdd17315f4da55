// SPDX-License-Identifier: MIT OR Apache-2.0
// Java whose memory outside the heap has known owners: direct buffers, and what a native library
// of its own takes.
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

public class Shop {
	static final List<Object> kept = new ArrayList<>();

	static native long holdNames(int n);

	static native long holdPages(int n);

	static native byte[] makeTable(int n);

	static void readBuffers(int n) {
		for (int i = 0; i < n; i++)
			kept.add(ByteBuffer.allocateDirect(100000 + i * 8));
	}

	static void askLibrary(int n) {
		for (int i = 0; i < n; i++) {
			holdNames(500);
			holdPages(20);
			kept.add(makeTable(1000));
		}
	}

	public static void main(String[] words) {
		System.loadLibrary("shop");
		// Often enough for the compilers to have turned them into code of their own.
		for (int i = 0; i < 2000; i++) {
			readBuffers(words.length > 0 && i % 10 == 0 ? 1 : 0);
			askLibrary(words.length > 0 ? 0 : i % 20 == 0 ? 1 : 0);
		}
		System.out.println(kept.size());
		Runtime.getRuntime().halt(0);
	}
}
