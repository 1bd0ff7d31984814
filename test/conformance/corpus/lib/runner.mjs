import fs from 'node:fs'
import path from 'node:path'
import zlib from 'node:zlib'
import { compare } from './compare.mjs'
import { send } from './http.mjs'
import { isObj, parse, RawNum, stringify } from './json.mjs'
import { boundaryOf, encodeMultipart, parseMultipart } from './multipart.mjs'

export const sleep = ms => new Promise(r => setTimeout(r, ms))

// ---- loading ------------------------------------------------------------
export function loadScenarios(dir) {
  const sdir = fs.existsSync(path.join(dir, 'scenarios')) ? path.join(dir, 'scenarios') : dir
  const out = []
  for (const f of fs
    .readdirSync(sdir)
    .filter(x => x.endsWith('.json'))
    .sort()) {
    const list = parse(fs.readFileSync(path.join(sdir, f), 'utf8'))
    for (const s of Array.isArray(list) ? list : [list]) out.push({ ...s, file: f })
  }
  return out
}

// ---- variables ----------------------------------------------------------
export function newVars(target) {
  let uid = ''
  while (uid.length < 9) uid += Math.random().toString(36).slice(2)
  uid = 'z' + uid.slice(0, 9)
  const admin = target.admin || { user: 'admin', password: 'pass' }
  const v = {
    uid,
    base: target.origin + target.prefix,
    host: target.hostport,
    admin: admin.user,
    adminpass: admin.password,
    authbase: `http://${encodeURIComponent(admin.user)}:${encodeURIComponent(admin.password)}@${target.hostport}${target.prefix}`,
    adminbasic: Buffer.from(`${admin.user}:${admin.password}`).toString('base64'),
  }
  'abcdefgh'.split('').forEach((c, i) => {
    v['db' + (i ? i + 1 : '')] = `c${uid}${c}`
  })
  for (let i = 1; i <= 6; i++) v['user' + (i > 1 ? i : '')] = `u${uid}${'mnopqr'[i - 1]}`
  return v
}

const FILTERS = {
  url: s => encodeURIComponent(s),
  json: s => JSON.stringify(s),
  b64: s => Buffer.from(s).toString('base64'),
  urljson: s => encodeURIComponent(JSON.stringify(s)),
  hash: s => String(s).replace(/^\d+-/, ''),
}
const VAR = /\{\{([a-zA-Z][a-zA-Z0-9_]*)(?:\|([a-z0-9]+))?\}\}/g

export class Unresolved extends Error {}

// strict: unknown variables throw (requests); else they are left as they are (expectations)
export function subst(x, vars, strict = false) {
  if (typeof x === 'string') {
    if (!x.includes('{{')) return x
    const whole = /^\{\{([a-zA-Z][a-zA-Z0-9_]*)\}\}$/.exec(x)
    if (whole && whole[1] in vars) return vars[whole[1]]
    return x.replace(VAR, (m, name, filter) => {
      if (!(name in vars)) {
        if (strict) throw new Unresolved(name)
        return m
      }
      let v = vars[name]
      if (filter) v = FILTERS[filter](v)
      return typeof v === 'string' ? v : stringify(v)
    })
  }
  if (Array.isArray(x)) return x.map(y => subst(y, vars, strict))
  if (isObj(x)) {
    const o = Object.create(null)
    for (const k of Object.keys(x)) o[subst(k, vars, strict)] = subst(x[k], vars, strict)
    return o
  }
  return x
}

// ---- requests -----------------------------------------------------------
function header(headers, name) {
  const k = Object.keys(headers || {}).find(h => h.toLowerCase() === name)
  return k ? headers[k] : undefined
}

export function buildRequest(reqIn, vars, target) {
  const r = subst(reqIn, vars, true)
  const headers = {}
  for (const [k, v] of Object.entries(r.headers || {})) if (v !== null) headers[k] = v
  const as = r.as ?? 'admin'
  if (as === 'admin') {
    if (header(headers, 'authorization') === undefined)
      headers.Authorization = 'Basic ' + vars.adminbasic
  } else if (isObj(as)) {
    headers.Authorization = 'Basic ' + Buffer.from(`${as.user}:${as.password}`).toString('base64')
  }
  let body
  if (r.multipart) {
    body = encodeMultipart(r.multipart, j => stringify(j))
    if (header(headers, 'content-type') === undefined) {
      headers['Content-Type'] =
        `multipart/${r.multipart.type || 'related'};boundary="${r.multipart.boundary}"`
    }
  } else if (r.body !== undefined) body = Buffer.from(stringify(r.body))
  else if (r.bodyText !== undefined) body = Buffer.from(r.bodyText)
  else if (r.bodyBase64 !== undefined) body = Buffer.from(r.bodyBase64, 'base64')
  else if (r.bodyRepeat !== undefined) {
    body = Buffer.from(
      (r.bodyRepeat.prefix ?? '') +
        r.bodyRepeat.text.repeat(r.bodyRepeat.count) +
        (r.bodyRepeat.suffix ?? ''),
    )
  }
  if (r.gzip && body) body = zlib.gzipSync(body)
  return { method: r.method, path: r.path, headers, body }
}

// ---- responses ----------------------------------------------------------
const HEADERS = [
  'content-type',
  'etag',
  'location',
  'transfer-encoding',
  'cache-control',
  'accept-ranges',
  'content-encoding',
  'content-range',
  'content-length',
  'content-md5',
  'content-disposition',
  'allow',
  'www-authenticate',
  'set-cookie',
  'access-control-allow-origin',
  'access-control-allow-credentials',
  'access-control-allow-methods',
  'access-control-allow-headers',
  'access-control-expose-headers',
  'access-control-max-age',
  'vary',
  'x-custom',
  'x-foo',
]

export function normCtype(s) {
  if (!s) return s
  const [type, ...params] = s
    .split(';')
    .map(x => x.trim())
    .filter(Boolean)
  const ps = params.map(p => {
    const [k, ...v] = p.split('=')
    const name = k.trim().toLowerCase()
    if (name === 'boundary') return 'boundary=<~any~>'
    const val = v.join('=').trim()
    return name + '=' + (name === 'charset' ? val.toLowerCase().replace(/"/g, '') : val)
  })
  return [type.toLowerCase(), ...ps].join(';')
}

// "AuthSession=<~token~>; Version=1; Path=/; HttpOnly": attributes other than these three are dropped
export function cookieShape(list) {
  return (Array.isArray(list) ? list : [list])
    .map(c => {
      const [nv, ...attrs] = c.split(';').map(x => x.trim())
      const eq = nv.indexOf('=')
      const value = nv.slice(eq + 1).replace(/^"|"$/g, '')
      const keep = attrs
        .filter(a => /^(version|path|httponly)\b/i.test(a))
        .map(a => a.toLowerCase().replace(/\s*=\s*/, '='))
        .sort()
      return [nv.slice(0, eq) + '=' + (value ? '<~token~>' : ''), ...keep].join('; ')
    })
    .sort()
    .join(' | ')
}

function utf8OrNull(buf) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(buf)
  } catch {
    return null
  }
}
const raw = buf => {
  const t = utf8OrNull(buf)
  // eslint-disable-next-line no-control-regex
  return t !== null && !/[\u0000-\u0008\u000e-\u001f]/.test(t)
    ? { text: t }
    : { base64: buf.toString('base64') }
}
const tryJson = t => {
  try {
    return { body: parse(t) }
  } catch {
    return null
  }
}

function partShape(p) {
  const headers = {}
  for (const h of [
    'content-type',
    'content-disposition',
    'content-encoding',
    'content-length',
    'content-range',
  ]) {
    if (p.headers[h] !== undefined)
      headers[h] = h === 'content-type' ? normCtype(p.headers[h]) : p.headers[h]
  }
  const ct = p.headers['content-type'] || ''
  const out = { headers }
  if (/^multipart\//i.test(ct)) out.parts = parseMultipart(p.body, boundaryOf(ct)).map(partShape)
  else if (/json/i.test(ct)) Object.assign(out, tryJson(p.body.toString('utf8')) || raw(p.body))
  else {
    let b = p.body
    if (/gzip/.test(p.headers['content-encoding'] || '')) {
      try {
        b = zlib.gunzipSync(b)
        out.gunzipped = true
        delete headers['content-length']
      } catch {
        /* keep */
      }
    }
    Object.assign(out, raw(b))
  }
  return out
}

function eventsOf(text) {
  const out = []
  let heartbeat = false
  for (const block of text.replace(/\r\n/g, '\n').split('\n\n')) {
    if (!block.trim()) {
      continue
    }
    const ev = {}
    for (const line of block.split('\n')) {
      if (!line) continue
      const c = line.indexOf(':')
      const k = c < 0 ? line : line.slice(0, c)
      const v = c < 0 ? '' : line.slice(c + 1).replace(/^ /, '')
      if (k === 'data') ev.data = ev.data === undefined ? v : ev.data + '\n' + v
      else if (k) ev[k] = v
    }
    if (ev.event === 'heartbeat') {
      heartbeat = true
      continue
    }
    if (ev.data !== undefined && ev.data !== '') {
      const j = tryJson(ev.data)
      if (j) ev.data = j.body
    }
    if (Object.keys(ev).length) out.push(ev)
  }
  return { events: out, heartbeat }
}

function linesOf(text) {
  const out = []
  let heartbeat = false
  const all = text.split('\n')
  all.forEach((l, i) => {
    const s = l.replace(/\r$/, '')
    if (!s.trim()) {
      if (i < all.length - 1) heartbeat = true
      return
    }
    const j = tryJson(s)
    out.push(j ? j.body : s)
  })
  return { lines: out, heartbeat }
}

// The comparable shape of a response. kind: what the step asks for, or what the expectation holds.
export function shapeOf(res, step, kindWanted) {
  const headers = {}
  for (const h of HEADERS) if (res.headers[h] !== undefined) headers[h] = res.headers[h]
  if (headers['content-type']) headers['content-type'] = normCtype(headers['content-type'])
  if (headers.location) headers.location = headers.location.replace(/^https?:\/\/[^/]+/, '')
  if (headers['set-cookie']) headers['set-cookie'] = cookieShape(headers['set-cookie'])
  for (const h of [
    'allow',
    'vary',
    'access-control-allow-methods',
    'access-control-allow-headers',
    'access-control-expose-headers',
  ]) {
    if (headers[h])
      headers[h] = headers[h]
        .split(',')
        .map(x => (h === 'allow' || /methods/.test(h) ? x.trim() : x.trim().toLowerCase()))
        .sort()
        .join(', ')
  }
  const out = { status: res.status, headers }
  let buf = res.body
  if (/gzip/.test(res.headers['content-encoding'] || '') && buf.length) {
    try {
      buf = zlib.gunzipSync(buf)
      out.gunzipped = true
    } catch {
      /* as it is */
    }
  }
  const ct = res.headers['content-type'] || ''
  const kind = kindWanted || step.request.kind
  if (step.request.method === 'HEAD') return out
  if (kind === 'lines') return Object.assign(out, linesOf(buf.toString('utf8')))
  if (kind === 'events') return Object.assign(out, eventsOf(buf.toString('utf8')))
  if (!buf.length) return out
  if (kind === 'raw' && res.status >= 400) {
    // an error instead of the bytes asked for
    const j = tryJson(buf.toString('utf8'))
    if (j && isObj(j.body) && 'error' in j.body) return Object.assign(out, j)
  }
  if (kind === 'raw' && !/^multipart\/byteranges/i.test(ct)) return Object.assign(out, raw(buf))
  if (kind !== 'json' && /^multipart\//i.test(ct)) {
    out.parts = parseMultipart(buf, boundaryOf(ct)).map(partShape)
    return out
  }
  if (kind === 'json' || /json|text\/plain|javascript/i.test(ct) || !ct) {
    const t = utf8OrNull(buf)
    const j = t === null ? null : tryJson(t)
    if (j) return Object.assign(out, j)
  }
  return Object.assign(out, raw(buf))
}

export function kindOfExpect(e) {
  if (!e) return undefined
  if ('body' in e) return 'json'
  if ('lines' in e) return 'lines'
  if ('events' in e) return 'events'
  if ('text' in e || 'base64' in e) return 'raw'
  return undefined
}

// ---- captures -----------------------------------------------------------
export function getPath(shape, res, p) {
  const parts = Array.isArray(p) ? p : p.split('.')
  if (parts[0] === 'header') return res.headers[parts[1]]
  if (parts[0] === 'cookie') {
    for (const c of [].concat(res.headers['set-cookie'] || [])) {
      const nv = c.split(';')[0]
      if (nv.startsWith(parts[1] + '=')) return nv
    }
    return undefined
  }
  if (parts[0] === 'etag') return (res.headers.etag || '').replace(/^"|"$/g, '') || undefined
  let v = shape
  for (const k of parts) {
    if (v === null || v === undefined || v instanceof RawNum) return undefined
    v = v[k]
  }
  return v
}

function untilMet(cond, shape, res) {
  return [].concat(cond).every(c => {
    if (c.status !== undefined) return shape.status === c.status
    const v = getPath(shape, res, c.path)
    if ('equals' in c) return v !== undefined && stringify(v) === stringify(c.equals)
    if ('notEquals' in c) return v !== undefined && stringify(v) !== stringify(c.notEquals)
    if ('in' in c) return c.in.some(x => stringify(x) === stringify(v))
    if ('minLength' in c) return Array.isArray(v) && v.length >= c.minLength
    return v !== undefined
  })
}

// ---- one step -----------------------------------------------------------
export async function runStep(target, step, vars, kindWanted, opts = {}) {
  if (step.wait) await sleep(step.wait)
  const deadline = Date.now() + (step.until ? step.untilMs || 20000 : 0)
  for (;;) {
    const req = buildRequest(step.request, vars, target)
    const during = (step.during || []).map(async d => {
      await sleep(d.delay)
      const r = buildRequest(d.request, vars, target)
      try {
        await send(target, r, { timeout: 20000 })
      } catch {
        /* the main request shows it */
      }
    })
    const res = await send(target, req, {
      timeout: step.timeout || opts.timeout || 30000,
      abortAfter: step.request.readMs,
    })
    await Promise.all(during)
    const shape = shapeOf(res, step, kindWanted)
    if (step.until && Date.now() < deadline && !untilMet(subst(step.until, vars), shape, res)) {
      await sleep(step.every || 200)
      continue
    }
    return { res, shape }
  }
}

export async function runAux(target, list, vars, must) {
  for (const item of list || []) {
    const step = { request: item.request ?? item, until: item.until }
    if (item.wait) await sleep(item.wait)
    let out
    try {
      out = await runStep(target, step, vars)
    } catch (e) {
      if (must) throw new Error(`setup ${step.request.method} ${step.request.path}: ${e.message}`)
      continue
    }
    if (must && out.res.status >= 400 && !(item.allow || []).includes(out.res.status)) {
      throw new Error(
        `setup ${step.request.method} ${subst(step.request.path, vars)}: ${out.res.status} ${out.res.body.toString().slice(0, 200)}`,
      )
    }
    for (const [name, p] of Object.entries(item.capture || {})) {
      const v = getPath(out.shape, out.res, p)
      if (v === undefined && must)
        throw new Error(`setup capture ${name} failed: ${out.res.body.toString().slice(0, 200)}`)
      vars[name] = v
    }
  }
}

// a status is a number, or a text of alternatives such as "404" or "4xx|5xx"
function statusOk(exp, act) {
  if (exp === undefined) return true
  return String(exp)
    .split('|')
    .some(p =>
      p.endsWith('xx') ? p[0] === String(act)[0] && String(act).length === 3 : p === String(act),
    )
}

// ---- comparing a shape with an expectation -------------------------------
export function compareShape(exp, shape, ctx) {
  const out = []
  if (!statusOk(exp.status, shape.status)) {
    out.push({ path: 'status', expected: exp.status, actual: shape.status })
  }
  for (const [h, v] of Object.entries(exp.headers || {})) {
    if (ctx.ignoreHeaders && (ctx.ignoreHeaders.includes(h) || ctx.ignoreHeaders.includes('all')))
      continue
    const a = shape.headers[h]
    if (v === null) {
      if (a !== undefined) out.push({ path: 'headers.' + h, expected: '(absent)', actual: a })
      continue
    }
    if (a === undefined) {
      out.push({ path: 'headers.' + h, expected: v, actual: '(absent)' })
      continue
    }
    out.push(
      ...compare(v, h === 'content-type' && /multipart/.test(v) ? a : a, ctx, ['headers', h]),
    )
  }
  for (const k of [
    'body',
    'text',
    'base64',
    'parts',
    'lines',
    'events',
    'heartbeat',
    'gunzipped',
  ]) {
    if (k in exp) {
      if (!(k in shape)) {
        const got = ['body', 'text', 'base64', 'parts', 'lines', 'events'].find(x => x in shape)
        out.push({ path: k, expected: exp[k], actual: got ? shape[got] : '(no body)' })
      } else if (k === 'heartbeat') {
        if (exp.heartbeat === true && shape.heartbeat !== true)
          out.push({ path: k, expected: true, actual: false })
      } else out.push(...compare(exp[k], shape[k], ctx, [k]))
    }
  }
  if (exp.empty) {
    const got = ['body', 'text', 'base64', 'parts'].find(x => x in shape)
    if (got) out.push({ path: 'body', expected: '(empty)', actual: shape[got] })
  }
  if (exp.bodyContains) {
    const t =
      'body' in shape
        ? stringify(shape.body)
        : 'lines' in shape
          ? shape.lines.map(l => stringify(l)).join('\n')
          : (shape.text ?? '')
    for (const c of exp.bodyContains)
      if (!t.includes(c)) out.push({ path: 'bodyContains', expected: c, actual: t.slice(0, 200) })
  }
  return out
}

// ---- a whole scenario ----------------------------------------------------
// opts: { real, looseRevs, looseReasons, onShape(i, shape, vars) }
export async function runScenario(target, sc, opts = {}) {
  const vars = newVars(target)
  const results = []
  let setupError
  try {
    await runAux(target, sc.setup, vars, true)
  } catch (e) {
    setupError = e.message
  }
  if (setupError) {
    for (const [i] of sc.steps.entries())
      results.push({
        i,
        ok: false,
        diffs: [{ path: 'setup', expected: 'success', actual: setupError }],
      })
  } else {
    for (const [i, step] of sc.steps.entries()) {
      const rawExp = opts.real && step.recorded ? step.recorded : step.expect
      let diffs = []
      try {
        const { res, shape } = await runStep(target, step, vars, kindOfExpect(rawExp))
        for (const [key, p] of Object.entries(step.capture || {})) {
          const name = key.replace(/\?$/, '') // "name?": may be absent
          const v = getPath(shape, res, p)
          if (v === undefined && key !== name) vars[name] = 'absent'
          else if (v === undefined)
            diffs.push({ path: `capture ${name}`, expected: p, actual: '(nothing there)' })
          else vars[name] = v
        }
        if (opts.onShape) opts.onShape(i, shape, vars, res)
        if (rawExp) {
          const exp = subst(rawExp, vars)
          diffs.push(
            ...compareShape(exp, shape, {
              looseRevs: opts.looseRevs || sc.revs === 'loose' || step.revs === 'loose',
              looseReasons: opts.looseReasons,
              ignoreHeaders: opts.ignoreHeaders,
              strictRows: opts.strictRows,
              cmp: step.compare,
            }),
          )
        }
      } catch (e) {
        diffs = [
          {
            path: 'request',
            expected: 'a response',
            actual:
              e instanceof Unresolved ? `variable ${e.message} was never captured` : e.message,
          },
        ]
        if (opts.onError) opts.onError(i, e)
      }
      results.push({
        i,
        ok: diffs.length === 0,
        diffs,
        request: `${step.request.method} ${step.request.path}`,
        seed: !!step.seed,
      })
    }
  }
  await runAux(target, sc.teardown, vars, false)
  return { results, vars, setupError }
}
