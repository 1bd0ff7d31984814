/**
 * How many documents per second one sandbox process maps, beside the same function in this process,
 * and what one validation costs over the pipe. Documents of about 435 bytes, two emits, batches of 1000.
 *
 * Run: node --import tsx bench/sandbox.bench.ts. The ratio to the plain run is what counts; the parent's
 * CPU share says what stays for HTTP.
 */
import { DenoSandbox } from '../src/core/sandbox/deno-sandbox.ts'

const BATCH_COUNT = 40
const BATCH_SIZE = 1000

const MAP = `function (doc) {
  if (doc.type !== 'data_record' || !doc.form) return
  emit([doc.form, doc.reported_date], doc.patient.name)
  if (doc.fields.risk !== undefined) emit(doc.patient.parent._id, 1)
}`

const makeDocument = (i: number): Buffer =>
  Buffer.from(
    JSON.stringify({
      _id: `document-${i}`,
      _rev: '1-967a00dff5e02add41819138abb3284d',
      type: 'data_record',
      form: 'pregnancy',
      reported_date: 1_500_000_000_000 + i,
      from: `+25470000${i}`,
      patient: { name: `Jane Doe ${i}`, age: 20 + (i % 30), parent: { _id: `place-${i % 100}` } },
      fields: { lmp: '2020-01-01', risk: i % 2 === 0, notes: 'words that fill the document' },
      tags: ['a', 'b', 'c'],
      errors: [],
      tasks: [
        { due: 1, state: 'pending' },
        { due: 2, state: 'sent' },
      ],
    }),
  )

const batch = Array.from({ length: BATCH_SIZE }, (_, i) => makeDocument(i))
const bytes = batch.reduce((sum, text) => sum + text.length, 0)
console.log(`document: ${Math.round(bytes / BATCH_SIZE)} bytes`)

const measure = async (name: string, once: () => unknown, per: number, count: number) => {
  for (let i = 0; i < count / 4; i++) await once()
  const cpuBefore = process.cpuUsage()
  const start = performance.now()
  for (let i = 0; i < count; i++) await once()
  const seconds = (performance.now() - start) / 1000
  const cpu = process.cpuUsage(cpuBefore)
  const cpuSeconds = (cpu.user + cpu.system) / 1e6
  const rate = Math.round((count * per) / seconds)
  const share = Math.round((100 * cpuSeconds) / seconds)
  console.log(`${name.padEnd(28)} ${String(rate).padStart(9)}/s   this process ${share}% CPU`)
  return rate
}

let rows: string[] = []
const plainMap = new Function('emit', `return (${MAP})`)((key: unknown, value: unknown) => {
  rows.push(JSON.stringify(key), JSON.stringify(value))
}) as (doc: unknown) => void
const runPlain = (): void => {
  rows = []
  for (const text of batch) plainMap(JSON.parse(text.toString('utf8')))
}

const only = process.argv[2]
for (const runtime of ['deno', 'node'] as const) {
  if (only !== undefined && only !== runtime) continue
  const sandbox = new DenoSandbox({ runtime, processesMax: 2, warn: console.warn, onLog: () => {} })
  const group = { databaseKey: 'bench', key: 'views', maps: [MAP], reduces: [] }
  const plain = await measure('plain, in this process', runPlain, BATCH_SIZE, BATCH_COUNT)
  const mapped = await measure(
    `${runtime}, one process`,
    () => sandbox.mapBatch(group, batch),
    BATCH_SIZE,
    BATCH_COUNT * 2,
  )
  console.log(`${'  ratio to plain'.padEnd(28)} ${(mapped / plain).toFixed(2).padStart(9)}`)
  const pair = () => Promise.all([sandbox.mapBatch(group, batch), sandbox.mapBatch(group, batch)])
  await measure(`${runtime}, two processes`, pair, BATCH_SIZE * 2, BATCH_COUNT)
  const document = Buffer.from(
    JSON.stringify({ validate_doc_update: 'function (n) { if (n.no) throw({forbidden: 1}) }' }),
  )
  const design = { databaseKey: 'bench', key: 'design', document }
  const context = { userContext: Buffer.from('{}'), security: Buffer.from('{}') }
  const item = { newDocument: batch[0] as Buffer, oldDocument: null }
  const validate = () => sandbox.validate(design, [item], context)
  const calls = await measure(`${runtime}, one validation`, validate, 1, 4000)
  console.log(`${'  per validation'.padEnd(28)} ${(1e6 / calls).toFixed(0).padStart(9)} µs`)
  await sandbox.close()
}
