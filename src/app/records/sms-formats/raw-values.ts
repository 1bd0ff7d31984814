/** What a message says about the fields of a form, before anybody asks whether it makes sense. */

/** Texts; numbers and dates that a labelled text showed to be such; lists where a label came several times. */
export type RawValue = string | number | readonly (string | number)[]

export interface RawValues {
  /** By the key of the field. */
  readonly values: ReadonlyMap<string, RawValue>
  /** The message had more values than the form has fields. */
  readonly hasExtra: boolean
  /** Fields without a value are part of the record too. */
  readonly setsAll: boolean
}
