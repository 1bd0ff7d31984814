/** The name of a field as rows of a text index spell it: `tags.[]`, the elements of `tags`, are under `tags`. */
export const plainField = (name: string): string => name.replaceAll('.[]', '')
