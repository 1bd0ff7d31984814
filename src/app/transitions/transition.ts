/**
 * PORT: a rule that is run on documents after they were written. It looks at a document with the people and places
 * around it, changes what it is about through `Work`, and writes nothing itself.
 *
 * Promises of every transition: run again on what it has left behind, it changes nothing. That is what makes a record
 * come out the same when the process was killed between writing it and remembering that it was done.
 */
import type { Document } from '../documents/document.ts'
import type { Work } from './work.ts'

export interface Lookup {
  readonly view: 'contacts_by_phone' | 'registered_patients'
  readonly key: string
}

export interface Transition {
  readonly name: string
  /** Also runs where a record comes in as a message, before it is first written. */
  readonly runsOnArrival: boolean
  /** Runs again on later revisions; others run once on a document. */
  readonly repeats?: boolean
  /** What it will look for, so that all of a batch can be asked for at once. */
  lookups?(document: Document): readonly Lookup[]
  /** Whether it has anything to do with this document. Asks nobody. */
  isFor(work: Work): boolean
  /** True when it did something that is to be remembered. */
  run(work: Work): Promise<boolean>
}
