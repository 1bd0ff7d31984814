// Lossless JSON: numbers whose text does not survive a round trip through a
// double are kept as RawNum. Objects keep key order (null prototype).
export class RawNum {
  constructor(text) {
    this.text = text
  }
  toString() {
    return this.text
  }
}

export function parse(text) {
  let i = 0
  const n = text.length
  const fail = m => {
    throw new SyntaxError(`${m} at ${i}`)
  }
  const ws = () => {
    while (i < n) {
      const c = text.charCodeAt(i)
      if (c === 32 || c === 10 || c === 13 || c === 9) i++
      else break
    }
  }
  const str = () => {
    const start = i
    i++
    for (;;) {
      if (i >= n) fail('unterminated string')
      const c = text.charCodeAt(i)
      if (c === 34) {
        i++
        break
      }
      if (c === 92) i += 2
      else i++
    }
    return JSON.parse(text.slice(start, i))
  }
  const num = () => {
    const m = /-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
    m.lastIndex = i
    const r = m.exec(text)
    if (!r) fail('bad token')
    i = m.lastIndex
    const v = Number(r[0])
    return String(v) === r[0] ? v : new RawNum(r[0])
  }
  const val = () => {
    ws()
    const c = text[i]
    if (c === '{') {
      const o = Object.create(null)
      i++
      ws()
      if (text[i] === '}') {
        i++
        return o
      }
      for (;;) {
        ws()
        if (text[i] !== '"') fail('expected key')
        const k = str()
        ws()
        if (text[i] !== ':') fail('expected :')
        i++
        o[k] = val()
        ws()
        if (text[i] === ',') {
          i++
          continue
        }
        if (text[i] === '}') {
          i++
          return o
        }
        fail('expected , or }')
      }
    }
    if (c === '[') {
      const a = []
      i++
      ws()
      if (text[i] === ']') {
        i++
        return a
      }
      for (;;) {
        a.push(val())
        ws()
        if (text[i] === ',') {
          i++
          continue
        }
        if (text[i] === ']') {
          i++
          return a
        }
        fail('expected , or ]')
      }
    }
    if (c === '"') return str()
    if (text.startsWith('true', i)) {
      i += 4
      return true
    }
    if (text.startsWith('false', i)) {
      i += 5
      return false
    }
    if (text.startsWith('null', i)) {
      i += 4
      return null
    }
    return num()
  }
  const v = val()
  ws()
  if (i !== n) fail('trailing data')
  return v
}

// indent: undefined -> compact; number -> pretty, but short values stay on one line
export function stringify(v, indent, width = 110) {
  const compact = x => {
    if (x instanceof RawNum) return x.text
    if (x === null || x === undefined) return 'null'
    if (Array.isArray(x)) return '[' + x.map(compact).join(',') + ']'
    if (typeof x === 'object') {
      return (
        '{' +
        Object.keys(x)
          .filter(k => x[k] !== undefined)
          .map(k => JSON.stringify(k) + ':' + compact(x[k]))
          .join(',') +
        '}'
      )
    }
    if (Object.is(x, -0)) return '-0'
    return JSON.stringify(x)
  }
  if (indent === undefined) return compact(v)
  const pretty = (x, depth) => {
    const c = compact(x)
    if (
      c.length + depth * indent <= width ||
      x === null ||
      typeof x !== 'object' ||
      x instanceof RawNum
    )
      return c
    const pad = ' '.repeat(indent * (depth + 1))
    const end = ' '.repeat(indent * depth)
    if (Array.isArray(x)) {
      return '[\n' + x.map(y => pad + pretty(y, depth + 1)).join(',\n') + '\n' + end + ']'
    }
    return (
      '{\n' +
      Object.keys(x)
        .filter(k => x[k] !== undefined)
        .map(k => pad + JSON.stringify(k) + ': ' + pretty(x[k], depth + 1))
        .join(',\n') +
      '\n' +
      end +
      '}'
    )
  }
  return pretty(v, 0)
}

export const isObj = x =>
  x !== null && typeof x === 'object' && !Array.isArray(x) && !(x instanceof RawNum)
