/** Compiles the map and reduce functions of a design document that is about to be written. */
import { DEFAULT_LANGUAGE, type DesignDocument } from '../document/design-document.ts'
import type { FunctionSource, Sandbox } from '../sandbox/sandbox.ts'

/** Fails with `compilation_failed`. Nothing runs, and functions of other languages are not looked at. */
export async function checkFunctions(
  sandbox: () => Sandbox,
  databaseKey: string,
  design: DesignDocument,
): Promise<void> {
  if (design.language !== DEFAULT_LANGUAGE) return
  const functions: FunctionSource[] = []
  for (const [view, { map, reduce }] of design.views) {
    if (typeof map === 'string') functions.push({ kind: 'map', view, source: map })
    if (reduce !== undefined && !reduce.startsWith('_')) {
      functions.push({ kind: 'reduce', view, source: reduce })
    }
  }
  if (functions.length > 0) await sandbox().compile(databaseKey, functions)
}
