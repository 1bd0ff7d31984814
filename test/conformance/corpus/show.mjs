#!/usr/bin/env node
// node show.mjs [--dir D] [--area A] [--name S] [--seed] : compact listing of the recorded responses
import path from 'node:path'
import { stringify } from './lib/json.mjs'
import { loadScenarios } from './lib/runner.mjs'

const argv = process.argv.slice(2)
const opt = (n, d) => {
  const i = argv.indexOf('--' + n)
  return i < 0 ? d : argv[i + 1]
}
const dir = opt('dir', path.dirname(new URL(import.meta.url).pathname))
const W = Number(opt('width', '260'))
const cut = s => (s.length > W ? s.slice(0, W) + '…' : s)
const body = e =>
  e === undefined
    ? '(none)'
    : ['body', 'text', 'base64', 'parts', 'lines', 'events', 'bodyContains']
        .filter(k => k in e)
        .map(
          k =>
            `${k === 'body' ? '' : k + ' '}${cut(typeof e[k] === 'string' ? JSON.stringify(e[k]) : stringify(e[k]))}`,
        )
        .join(' ')
for (const s of loadScenarios(dir)) {
  if (opt('area') && !opt('area').split(',').includes(s.area)) continue
  if (opt('name') && !s.name.includes(opt('name'))) continue
  if (argv.includes('--seed') && !s.steps.some(x => x.seed)) continue
  console.log(`== ${s.area}/${s.name}`)
  s.steps.forEach((st, i) => {
    if (argv.includes('--seed') && !st.seed) return
    const r = st.request
    const who =
      r.as && r.as !== 'admin' ? (r.as === 'anonymous' ? ' [anon]' : ` [${r.as.user}]`) : ''
    const rb =
      r.body !== undefined ? stringify(r.body) : (r.bodyText ?? (r.multipart ? '(multipart)' : ''))
    const e = st.recorded ?? st.expect
    console.log(
      ` ${i + 1}. ${r.method} ${r.path}${who} ${rb.length > 140 ? rb.slice(0, 140) + '…' : rb}`,
    )
    const hs = argv.includes('--headers') && e?.headers ? ' ' + stringify(e.headers) : ''
    console.log(`      ${e?.status}${hs} ${body(e)}`)
    if (st.seed)
      console.log(
        `      SEED (${st.note}) ${st.expect.status} ${stringify(st.expect.headers ?? null).slice(0, 200)} ${body(st.expect)}`,
      )
  })
}
