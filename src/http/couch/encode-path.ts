/** Percent-encoding of a database name, document id or attachment name in `Location`, with the letters CouchDB keeps. */
export const encodePathPart = (text: string): string =>
  PLAIN.test(text)
    ? text
    : encodeURIComponent(text)
        .replaceAll('%3A', ':')
        .replace(/[!'()*~]/g, letter => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`)

/** Stays as it is. */
const PLAIN = /^[A-Za-z0-9_.:-]*$/
