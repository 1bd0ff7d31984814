#!/usr/bin/env node
// node replay.mjs BASE_URL [--dir DIR] [--area A,B] [--name SUBSTR] [--real] [--loose-revs]
//   [--strict-rows] [--loose-reasons] [--ignore-headers H,..|all] [--jobs N] [--json OUT] [--quiet] [--max-diffs N] [--list]
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { short } from './lib/compare.mjs'
import { send, splitBase } from './lib/http.mjs'
import { stringify } from './lib/json.mjs'
import { loadScenarios, runScenario } from './lib/runner.mjs'

const argv = process.argv.slice(2)
const opt = (n, d) => {
  const i = argv.indexOf('--' + n)
  return i < 0 ? d : argv[i + 1]
}
const flag = n => argv.includes('--' + n)
const base = argv[0]
if (!base || base.startsWith('--')) {
  console.error(
    'usage: replay.mjs BASE_URL [--dir DIR] [--area A,B] [--name SUBSTR] [--real] [--loose-revs] [--loose-reasons] [--strict-rows] [--ignore-headers H,..|all] [--jobs N] [--json OUT] [--quiet] [--max-diffs N] [--list]',
  )
  process.exit(2)
}
const dir = opt('dir', path.dirname(new URL(import.meta.url).pathname))
const areas = opt('area') ? opt('area').split(',') : null
const target = splitBase(base)
const maxDiffs = Number(opt('max-diffs', '6'))
const jobs = Number(opt('jobs', '1'))

let list = loadScenarios(dir)
if (areas) list = list.filter(s => areas.includes(s.area))
if (opt('name')) list = list.filter(s => s.name.includes(opt('name')))
if (flag('list')) {
  for (const s of list) console.log(`${s.area}/${s.name} (${s.steps.length} steps)`)
  process.exit(0)
}

const admin = target.admin || { user: 'admin', password: 'pass' }
const auth = 'Basic ' + Buffer.from(`${admin.user}:${admin.password}`).toString('base64')
for (const db of ['_users', '_replicator', '_global_changes']) {
  try {
    await send(
      target,
      { method: 'PUT', path: '/' + db, headers: { Authorization: auth } },
      { timeout: 10000 },
    )
  } catch (e) {
    console.error(`cannot reach ${base}: ${e.message}`)
    process.exit(2)
  }
}

const tally = new Map()
const report = []
const count = area => {
  if (!tally.has(area)) tally.set(area, { sp: 0, sf: 0, p: 0, f: 0 })
  return tally.get(area)
}

// a server that fell over may be under a supervisor: wait for its port before each scenario
const open = () =>
  new Promise(r => {
    const s = net.connect(target.port, target.host, () => {
      s.destroy()
      r(true)
    })
    s.on('error', () => r(false))
  })
let down = false
async function waitUp() {
  for (let i = 0; i < (down ? 1 : 100); i++) {
    if (await open()) {
      down = false
      return
    }
    await new Promise(r => setTimeout(r, 200))
  }
  down = true
}

async function one(sc) {
  await waitUp()
  const t0 = Date.now()
  const { results } = await runScenario(target, sc, {
    real: flag('real'),
    looseRevs: flag('loose-revs'),
    looseReasons: flag('loose-reasons'),
    strictRows: flag('strict-rows'),
    ignoreHeaders: opt('ignore-headers') ? opt('ignore-headers').toLowerCase().split(',') : null,
  })
  const c = count(sc.area)
  const bad = results.filter(r => !r.ok)
  c.p += results.length - bad.length
  c.f += bad.length
  if (bad.length) c.sf++
  else c.sp++
  report.push({
    area: sc.area,
    name: sc.name,
    ok: !bad.length,
    ms: Date.now() - t0,
    steps: results.length,
    failed: bad.map(b => ({ step: b.i + 1, request: b.request, seed: b.seed, diffs: b.diffs })),
  })
  if (bad.length && !flag('quiet')) {
    const out = [`FAIL ${sc.area}/${sc.name}`]
    for (const b of bad) {
      out.push(
        `  step ${b.i + 1}: ${b.request ?? ''}${b.seed ? '  [seed: ' + sc.steps[b.i].note + ']' : ''}`,
      )
      for (const d of b.diffs.slice(0, maxDiffs))
        out.push(`    ${d.path}: expected ${short(d.expected)} got ${short(d.actual)}`)
      if (b.diffs.length > maxDiffs) out.push(`    … ${b.diffs.length - maxDiffs} more`)
    }
    console.log(out.join('\n'))
  }
}

const shared = list.filter(s => !s.exclusive)
const exclusive = list.filter(s => s.exclusive)
let next = 0
await Promise.all(
  Array.from({ length: Math.max(1, jobs) }, async () => {
    while (next < shared.length) await one(shared[next++])
  }),
)
for (const sc of exclusive) await one(sc)

const tot = { sp: 0, sf: 0, p: 0, f: 0 }
console.log('')
console.log('area'.padEnd(16) + 'scenarios'.padStart(22) + 'steps'.padStart(26))
for (const [area, c] of [...tally].sort((a, b) => (a[0] < b[0] ? -1 : 1))) {
  console.log(
    area.padEnd(16) +
      `${c.sp} passed, ${c.sf} failed`.padStart(22) +
      `${c.p} passed, ${c.f} failed`.padStart(26),
  )
  for (const k of Object.keys(tot)) tot[k] += c[k]
}
console.log(
  'all'.padEnd(16) +
    `${tot.sp} passed, ${tot.sf} failed`.padStart(22) +
    `${tot.p} passed, ${tot.f} failed`.padStart(26),
)
console.log(`${tot.p} passed, ${tot.f} failed`)
if (opt('json')) {
  fs.writeFileSync(
    opt('json'),
    stringify(
      { base: target.origin, areas: Object.fromEntries(tally), total: tot, scenarios: report },
      1,
    ) + '\n',
  )
}
process.exit(tot.f ? 1 : 0)
