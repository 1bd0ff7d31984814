/** Tables of users: quotes, line ends, marks, and more rows than should be in memory. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseUsersCsv, type UserRow } from '../../../../src/app/users/parse-users-csv.ts'

async function* pieces(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function rowsOf(text: string, size = 7): Promise<UserRow[]> {
  const rows: UserRow[] = []
  for await (const row of parseUsersCsv(pieces(text, size))) rows.push(row)
  return rows
}
const records = async (text: string, size?: number): Promise<unknown[]> =>
  (await rowsOf(text, size)).map(({ record }) => record)

describe('a table of users', () => {
  it('reads the same however its bytes are cut', async () => {
    const text =
      '\uFEFFusername, name ,a.b,a.c,\r\n"x, y"," z ",TRUE,FALSE,ignored\r\n\r\nü,"say ""hi""\nthere",true,,\n'
    const expected = [
      { username: 'x, y', name: 'z', a: { b: true, c: false } },
      { username: 'ü', name: 'say "hi"\nthere', a: { b: 'true', c: '' } },
    ]
    for (const size of [1, 2, 3, 7, 1000])
      assert.deepEqual(await records(text, size), expected, String(size))
  })

  it('has missing cells missing and reports too many', async () => {
    const [short, long] = await rowsOf('a,b,c\n1\n1,2,3,4\n')
    assert.deepEqual(short, { record: { a: '1' } })
    assert.deepEqual(long?.record, { a: '1', b: '2', c: '3' })
    assert.match(String(long?.error), /more cells/)
  })

  it('keeps marked columns out', async () => {
    const text =
      'a,note:excluded,b.x:EXCLUDED,import.status:excluded,import.message:excluded\n1,2,3,Skipped,why\n1,2,3,,\n'
    assert.deepEqual(await rowsOf(text), [
      { record: { a: '1' }, ignored: { status: 'skipped', message: 'why' } },
      { record: { a: '1' } },
    ])
  })

  it('has members of any name and changes nothing else', async () => {
    const [row] = await rowsOf('__proto__.polluted,constructor.prototype.polluted,a\n1,2,3\n')
    assert.equal(({} as Record<string, unknown>).polluted, undefined)
    assert.deepEqual(Object.keys(row?.record ?? {}), ['__proto__', 'constructor', 'a'])
  })

  it('fails where it stops being one, after what came before', async () => {
    const rows: UserRow[] = []
    const read = async (text: string): Promise<void> => {
      for await (const row of parseUsersCsv(pieces(text, 5))) rows.push(row)
    }
    await assert.rejects(read('a,b\n1,2\n"3'), { code: 'request_invalid' })
    assert.equal(rows.length, 1)
    const long = `a,b\n1,2\n${'x'.repeat(300 * 1024)}`
    await assert.rejects(read(long), { code: 'request_invalid' })
    await assert.rejects(read(`${'c,'.repeat(600)}\n`), { code: 'request_invalid' })
  })

  it('passes on what goes wrong with its source', async () => {
    async function* broken(): AsyncGenerator<Buffer> {
      yield Buffer.from('a,b\n1,2\n')
      throw new Error('gone')
    }
    const read = async (): Promise<void> => {
      for await (const _ of parseUsersCsv(broken()));
    }
    await assert.rejects(read(), { message: 'gone' })
  })

  it('is read at the pace of its reader', async () => {
    const total = 50_000
    let sent = 0
    async function* source(): AsyncGenerator<Buffer> {
      yield Buffer.from('username,password,type\n')
      for (let at = 0; at < total; at += 100) {
        const rows = Array.from({ length: 100 }, (_, n) => `user${at + n},Secret1.x9,chw\n`)
        sent += rows.length
        yield Buffer.from(rows.join(''))
      }
    }
    let read = 0
    let aheadMax = 0
    for await (const { record } of parseUsersCsv(source())) {
      assert.equal(record.username, `user${read}`)
      read++
      aheadMax = Math.max(aheadMax, sent - read)
    }
    assert.equal(read, total)
    assert.ok(aheadMax <= 200, `${aheadMax} rows were read ahead`)
  })
})
