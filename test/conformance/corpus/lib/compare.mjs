import { isObj, RawNum, stringify } from './json.mjs'

// ---- placeholders -------------------------------------------------------
// An expected string may be a whole placeholder "<~type~>" / "<~type:arg~>",
// or hold placeholders inside literal text ("no such <~any~> here").
const WHOLE = /^<~([a-z0-9]+)(?::([\s\S]*?))?~>$/i
const PART = /<~([a-z0-9]+)(?::([\s\S]*?))?~>/gi

const RX = {
  any: '[\\s\\S]*',
  string: '[\\s\\S]*',
  nonempty: '[\\s\\S]+',
  name: '[^\\s]+',
  seq: '\\d+-[^\\s"]+',
  int: '-?\\d+',
  num: '-?\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?',
  hex: '[0-9a-f]+',
  hex32: '[0-9a-f]{32}',
  hex40: '[0-9a-f]{40}',
  uuid: '[0-9a-f]{32}',
  digest: 'md5-[A-Za-z0-9+/]+={0,2}',
  b64: '[A-Za-z0-9+/]+={0,2}',
  ddocid: '_design/[^\\s]+',
  node: '[^@\\s]+@[^@\\s]+',
  time: '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?Z?',
  date: '[A-Z][a-z]{2}, \\d{1,2} [A-Z][a-z]{2} \\d{4} \\d\\d:\\d\\d:\\d\\d (?:GMT|[+-]\\d{4})',
  token: '[^;\\s]+',
  digits: '\\d+',
}
const esc = s => s.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
function rxOf(type, arg) {
  if (type === 're') return arg
  if (type === 'rev') return (arg ? arg : '\\d+') + '-[0-9a-f]{32}'
  return RX[type] ?? '[\\s\\S]*'
}

const isInt = x =>
  (typeof x === 'number' && Number.isInteger(x)) || (x instanceof RawNum && /^-?\d+$/.test(x.text))
const isNum = x => typeof x === 'number' || x instanceof RawNum

export function hasPlaceholder(s) {
  return typeof s === 'string' && s.includes('<~') && s.includes('~>')
}

function matchWhole(type, arg, act) {
  switch (type) {
    case 'any':
      return true
    case 'int':
      return isInt(act)
    case 'num':
      return isNum(act)
    case 'bool':
      return typeof act === 'boolean'
    case 'array':
      return Array.isArray(act)
    case 'object':
      return isObj(act)
    case 'null':
      return act === null
    case 'seqish':
      return isInt(act) || (typeof act === 'string' && /^\d+(-.+)?$/.test(act))
    case 'stringornull':
      return act === null || typeof act === 'string'
    default:
      return typeof act === 'string' && new RegExp('^(?:' + rxOf(type, arg) + ')$').test(act)
  }
}

export function matchString(exp, act) {
  const w = WHOLE.exec(exp)
  if (w) return matchWhole(w[1], w[2], act)
  if (typeof act !== 'string') return false
  let rx = ''
  let last = 0
  for (const m of exp.matchAll(PART)) {
    rx += esc(exp.slice(last, m.index)) + '(?:' + rxOf(m[1], m[2]) + ')'
    last = m.index + m[0].length
  }
  rx += esc(exp.slice(last))
  return new RegExp('^' + rx + '$').test(act)
}

// ---- numbers ------------------------------------------------------------
export function numEqual(a, b) {
  const ta = a instanceof RawNum ? a.text : String(a)
  const tb = b instanceof RawNum ? b.text : String(b)
  if (ta === tb) return true
  if (/^-?\d+$/.test(ta) && /^-?\d+$/.test(tb)) return BigInt(ta) === BigInt(tb)
  // one side a float: same IEEE double is good enough
  return Object.is(Number(ta) + 0, Number(tb) + 0) || Number(ta) === Number(tb)
}

// ---- revisions in loose mode --------------------------------------------
const REV = /(?<![0-9a-zA-Z])(\d+)-[0-9a-f]{32}(?![0-9a-zA-Z])/g
const looseStr = s => s.replace(REV, '$1-~')

// ---- path patterns ------------------------------------------------------
// "body.rows.*.value"; "**.reason" matches at any depth
export function pathMatch(pattern, path) {
  const p = Array.isArray(pattern) ? pattern : pattern.split('.')
  if (p[0] === '**') {
    const tail = p.slice(1)
    return tail.length <= path.length && pathMatch(tail, path.slice(path.length - tail.length))
  }
  return p.length === path.length && p.every((x, i) => x === '*' || x === String(path[i]))
}
const anyMatch = (patterns, path) => !!patterns && patterns.some(p => pathMatch(p, path))

// ---- comparison ---------------------------------------------------------
// ctx: { looseRevs, looseReasons, cmp: {unordered, contains, subset, ignore} }
export function compare(exp, act, ctx, path = [], inRow = false) {
  const cmp = ctx.cmp || {}
  if (anyMatch(cmp.ignore, path)) return []
  const diff = (e, a) => [{ path: path.join('.'), expected: e, actual: a }]
  if (
    ctx.looseReasons &&
    path.length &&
    path[path.length - 1] === 'reason' &&
    typeof exp === 'string'
  ) {
    return typeof act === 'string' ? [] : diff(exp, act)
  }
  if (typeof exp === 'string') {
    let e = exp
    let a = act
    if (ctx.looseRevs) {
      e = looseStr(e)
      if (typeof a === 'string') a = looseStr(a)
      if (
        path.length >= 2 &&
        path[path.length - 2] === 'ids' &&
        /^[0-9a-f]{32}$/.test(e) &&
        typeof a === 'string' &&
        /^[0-9a-f]{32}$/.test(a)
      )
        return []
    }
    if (hasPlaceholder(e)) {
      // a rev placeholder must still see the full text
      return matchString(exp, act) || matchString(e, a) ? [] : diff(exp, act)
    }
    return e === a ? [] : diff(exp, act)
  }
  if (isNum(exp)) return isNum(act) && numEqual(exp, act) ? [] : diff(exp, act)
  if (exp === null || typeof exp !== 'object') return exp === act ? [] : diff(exp, act)
  if (Array.isArray(exp)) {
    if (!Array.isArray(act)) return diff(exp, act)
    if (anyMatch(cmp.unordered, path) || anyMatch(cmp.contains, path)) {
      const left = act.slice()
      const out = []
      exp.forEach((e, i) => {
        const j = left.findIndex(a => compare(e, a, ctx, [...path, i]).length === 0)
        if (j < 0)
          out.push({ path: [...path, i].join('.'), expected: e, actual: '(no such element)' })
        else left.splice(j, 1)
      })
      if (left.length && !anyMatch(cmp.contains, path)) {
        out.push({
          path: path.join('.'),
          expected: `${exp.length} elements`,
          actual: `extra: ${short(left)}`,
        })
      }
      return out
    }
    const out = []
    if (exp.length !== act.length) {
      out.push({ path: path.join('.') + '.length', expected: exp.length, actual: act.length })
    }
    const rows = path.length && path[path.length - 1] === 'rows'
    for (let i = 0; i < Math.min(exp.length, act.length); i++) {
      out.push(...compare(exp[i], act[i], ctx, [...path, i], inRow || rows))
      if (out.length > 20) break
    }
    return out
  }
  if (!isObj(act)) return diff(exp, act)
  const out = []
  const subset = cmp.subset === true || anyMatch(cmp.subset === true ? null : cmp.subset, path)
  for (const k of Object.keys(exp)) {
    const p = [...path, k]
    if (!(k in act)) {
      if (!anyMatch(cmp.ignore, p))
        out.push({ path: p.join('.'), expected: exp[k], actual: '(absent)' })
    } else out.push(...compare(exp[k], act[k], ctx, p, inRow && k !== 'doc'))
  }
  if (!subset) {
    for (const k of Object.keys(act)) {
      const p = [...path, k]
      if (k === 'ref' && 'error' in exp) continue // crash reference of a 500
      if (!(k in exp) && !anyMatch(cmp.ignore, p))
        out.push({ path: p.join('.'), expected: '(absent)', actual: act[k] })
    }
  }
  // key order: inside the key and value of a row; of the row itself only with strictRows
  const isRow = path.length >= 2 && path[path.length - 2] === 'rows'
  if (inRow && out.length === 0 && (!isRow || ctx.strictRows)) {
    const ek = Object.keys(exp)
      .filter(k => k in act)
      .join(',')
    const ak = Object.keys(act)
      .filter(k => k in exp)
      .join(',')
    if (ek !== ak) out.push({ path: path.join('.') + ' (key order)', expected: ek, actual: ak })
  }
  return out
}

export function short(v, max = 160) {
  const s = typeof v === 'string' ? JSON.stringify(v) : stringify(v)
  return s.length > max ? s.slice(0, max) + '…' : s
}
