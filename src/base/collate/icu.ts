/**
 * The root collator of ICU, reached by a foreign call into the ICU that the Node binary itself
 * carries, or else into the system's. Root locale, tertiary strength, normalisation off: the
 * settings CouchDB sorts with.
 *
 * `sortKeyInto` promises bytes whose order is the collation order, free of zeros but for the last
 * one, so keys can be joined. They may change with the version of ICU: `version` belongs to the
 * format of every index. What the bytes mean inside longer keys is `sort-key.ts`'s matter.
 */
import koffi, { type LibraryHandle } from 'koffi'
import { Failure } from '../errors.ts'

export interface IcuCollator {
  /** ICU's version and that of its collation data. */
  readonly version: string
  /**
   * Writes the sort key of `text` and gives its length; when that is more than fits, nothing useful
   * was written.
   */
  sortKeyInto(text: string, target: Uint8Array): number
}

export function openIcuCollator(): IcuCollator {
  const found = findIcu()
  const { library, suffix } = found
  const open = library.func(`void *ucol_open${suffix}(const char *locale, _Out_ int32_t *status)`)
  const setAttribute = library.func(
    `void ucol_setAttribute${suffix}(void *coll, int attribute, int value, _Out_ int32_t *status)`,
  )
  const getVersion = library.func(`void ucol_getVersion${suffix}(void *coll, uint8_t *info)`)
  const getSortKey = library.func(
    `int32_t ucol_getSortKey${suffix}(void *coll, const char16_t *text, int32_t length, uint8_t *out, int32_t room)`,
  )
  const status = [0]
  const collator: unknown = open('root', status)
  checkStatus(status, 'ucol_open')
  for (const [attribute, value] of ROOT_ATTRIBUTES) {
    setAttribute(collator, attribute, value, status)
    checkStatus(status, 'ucol_setAttribute')
  }
  const dataVersion = Buffer.alloc(4)
  getVersion(collator, dataVersion)
  return {
    version: `${found.version}/${[...dataVersion].join('.')}`,
    sortKeyInto: (text, target) =>
      getSortKey(collator, text, text.length, target, target.length) as number,
  }
}

/** UCOL_STRENGTH = UCOL_TERTIARY, UCOL_NORMALIZATION_MODE = UCOL_OFF. */
const ROOT_ATTRIBUTES = [
  [5, 2],
  [4, 16],
] as const

interface FoundIcu {
  readonly library: LibraryHandle
  /** Behind each function name: `_78`, or nothing where a system library has plain names. */
  readonly suffix: string
  readonly version: string
}

/**
 * Every ICU function name ends in the major version, so the right library is the one that has the
 * name.
 */
function findIcu(): FoundIcu {
  const version = process.versions.icu ?? ''
  const major = version.split('.')[0] ?? ''
  const tried: string[] = []
  for (const file of [null, ...systemLibraries(major)]) {
    for (const suffix of major === '' ? [''] : [`_${major}`, '']) {
      const library = tryLoad(file, suffix)
      if (library !== undefined) {
        return { library, suffix, version: file === null ? version : `${file} ${major}` }
      }
    }
    tried.push(file ?? 'the Node binary')
  }
  throw new Failure('not_supported', {
    reason: `No ICU with collation was found; looked in ${tried.join(', ')}. Use a Node build with full ICU.`,
  })
}

const systemLibraries = (major: string): string[] => [
  `libicui18n.so.${major}`,
  'libicui18n.so',
  '/usr/lib/libicucore.dylib',
  'icu.dll',
]

function tryLoad(file: string | null, suffix: string): LibraryHandle | undefined {
  try {
    const library = koffi.load(file)
    library.func(
      `int32_t ucol_getSortKey${suffix}(void *, const char16_t *, int32_t, uint8_t *, int32_t)`,
    )
    return library
  } catch {
    // Neither a missing library nor a missing name is an error here: the next place is tried, and
    // when all are through the caller says where it looked.
    return undefined
  }
}

function checkStatus(status: readonly number[], call: string): void {
  const code = status[0] ?? 0
  // Negative codes are warnings (the root data is in use, which is what we ask for).
  if (code > 0) throw new Failure('not_supported', { reason: `ICU ${call} failed with ${code}` })
}
