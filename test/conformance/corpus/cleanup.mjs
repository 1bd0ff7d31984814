#!/usr/bin/env node
// node cleanup.mjs BASE_URL : removes databases and users that interrupted runs left behind
import { send, splitBase } from './lib/http.mjs'

const t = splitBase(process.argv[2])
const Authorization =
  'Basic ' + Buffer.from(`${t.admin.user}:${t.admin.password}`).toString('base64')
const call = async (method, path, body) => {
  const r = await send(t, {
    method,
    path,
    headers: { Authorization, 'Content-Type': 'application/json' },
    body: body && Buffer.from(JSON.stringify(body)),
  })
  return { status: r.status, json: JSON.parse(r.body.toString() || 'null') }
}
let n = 0
for (const db of (await call('GET', '/_all_dbs')).json)
  if (/^cz[a-z0-9]{9}[a-h]/.test(db)) {
    await call('DELETE', '/' + encodeURIComponent(db))
    n++
  }
for (const row of (await call('GET', '/_users/_all_docs')).json.rows ?? [])
  if (/^org\.couchdb\.user:uz[a-z0-9]{9}[m-r]$/.test(row.id)) {
    await call('DELETE', `/_users/${row.id}?rev=${row.value.rev}`)
    n++
  }
for (const row of (await call('GET', '/_replicator/_all_docs')).json.rows ?? [])
  if (/^repz[a-z0-9]{9}$/.test(row.id)) {
    await call('DELETE', `/_replicator/${row.id}?rev=${row.value.rev}`)
    n++
  }
console.log(`${n} leftovers removed`)
