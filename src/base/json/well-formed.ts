/** Whether a text can be written as UTF-8, that is, has no half of a surrogate pair. */
export const isWellFormed = (text: string): boolean => wellFormed.isWellFormed.call(text)

// every Node we run on has it; the types of our language level do not
const wellFormed = String.prototype as unknown as { isWellFormed(this: string): boolean }
