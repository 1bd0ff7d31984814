/**
 * Keeps memory small when files are opened and closed a lot. LMDB allocates 3.6 MB per open file and
 * touches little of it. From fresh pages that costs nothing; but glibc takes it from memory that was
 * used before where it can, and clears it. Such memory came from the 64 KiB buffers that the package
 * makes for each open file. With those and all larger ones on pages of their own, which go back when
 * they are freed, 256 open files of 5,000 opened in turn take 100 MB instead of 350, and the
 * threshold stays where it is put instead of growing with the first close.
 * Other C libraries have no such function and need none.
 */
const M_MMAP_THRESHOLD = -3
const THRESHOLD_BYTES = 65_536

/** Resolves to whether there was anything to set. For the whole process; may be called again. */
export async function keepBuffersMapped(): Promise<boolean> {
  try {
    const { default: koffi } = await import('koffi')
    const mallopt = koffi.load(null).func('int mallopt(int param, int value)')
    return mallopt(M_MMAP_THRESHOLD, THRESHOLD_BYTES) === 1
  } catch {
    // No such function here: nothing to fix.
    return false
  }
}
