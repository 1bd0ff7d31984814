/**
 * Runs transitions on one document, in their order. Each runs at most once on a generation of the document, and those
 * that do not repeat once at all; the info document says what ran before.
 *
 * One that throws leaves an error in the document and takes no other with it. Failures of the server itself (no sandbox,
 * no storage) are not the document's and go on to the caller.
 */
import { isFailure } from '../../base/errors.ts'
import { type InfoDocument, runsOf, type TransitionRun } from '../info-documents/info-document.ts'
import type { Transition } from './transition.ts'
import type { Work } from './work.ts'

export interface RunContext {
  /** Of the change; unknown where the document is not written yet. */
  readonly seq?: string
  readonly warn: (message: string, facts: Readonly<Record<string, unknown>>) => void
}

/** What is to be remembered of those that did something. */
export async function runTransitions(
  work: Work,
  transitions: readonly Transition[],
  context: RunContext,
): Promise<Record<string, TransitionRun>> {
  const runs: Record<string, TransitionRun> = {}
  const rev = work.stored._rev
  const failures: { name: string; message: string }[] = []
  for (const transition of transitions) {
    if (hasRun(work.info, transition, rev) || !transition.isFor(work)) continue
    let ok = true
    try {
      if (!(await transition.run(work))) continue
    } catch (thrown) {
      if (isFailure(thrown)) throw thrown
      ok = false
      const message = thrown instanceof Error ? thrown.message : String(thrown)
      failures.push({ name: transition.name, message })
      context.warn('a transition failed', { transition: transition.name, id: work.id, message })
    }
    runs[transition.name] = {
      last_rev: rev ?? FIRST_REV,
      seq: context.seq,
      ok,
      run_date: new Date(work.desk.clock()).toISOString(),
    }
  }
  if (work.isChanged) for (const failure of failures) work.addError(errorOf(failure))
  return runs
}

/** Of a document that is not written yet. */
const FIRST_REV = '1'

/** On this generation of the document, or on an earlier one where that is enough. */
export function hasRun(
  info: InfoDocument,
  { name, repeats = false }: Transition,
  rev: string | undefined,
): boolean {
  const runs = runsOf(info)
  const run = Object.hasOwn(runs, name) ? runs[name] : undefined
  if (run === undefined) return false
  if (!repeats && run.ok) return true
  return generation(run.last_rev) === generation(rev)
}

/** Whether the info document was written when the document arrived as a record, which it still is as it was then. */
export const isOfArrival = (info: InfoDocument, rev: string | undefined): boolean =>
  generation(rev) === 1 &&
  info._rev !== undefined &&
  Object.values(runsOf(info)).some(({ last_rev: ranOn }) => ranOn === FIRST_REV)

const generation = (rev: string | undefined): number => Number.parseInt(rev ?? '0', 10)

/** The quote at the end of the code is part of it: people search for it as it always was. */
const errorOf = ({ name, message }: { name: string; message: string }) => ({
  code: `${name}_error'`,
  message: `Transition error on ${name}: ${message}`,
})
