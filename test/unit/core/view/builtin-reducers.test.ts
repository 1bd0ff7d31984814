import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCollator } from '../../../../src/base/collate/collator.ts'
import { isFailure } from '../../../../src/base/errors.ts'
import { BlockWriter } from '../../../../src/core/indexing/block-writer.ts'
import { RowBlock, WIRE_FRAME } from '../../../../src/core/indexing/row-block.ts'
import { builtinReducer } from '../../../../src/core/view/builtin-reducers.ts'
import { functionReducer, type ReduceCall } from '../../../../src/core/view/function-reducer.ts'
import type { ViewReducer } from '../../../../src/core/view/view-reducer.ts'

const collator = openCollator()

function blockOf(rows: readonly (readonly [key: unknown, value: string])[]): RowBlock {
  const writer = new BlockWriter()
  rows.forEach(([key, value], i) => {
    const keyText = Buffer.from(JSON.stringify(key))
    const idText = Buffer.from(`"d${i}"`)
    const valueText = Buffer.from(value)
    writer.addKey(keyText, 0, keyText.length)
    writer.addId(idText, 0, idText.length)
    writer.addValue(valueText, 0, valueText.length)
  })
  return new RowBlock(writer.finish(), WIRE_FRAME)
}

/**
 * The result of reducing all rows at once, which must be that of reducing every two parts of them.
 */
async function reduced(
  reducer: ViewReducer,
  rows: readonly (readonly [unknown, string])[],
): Promise<string> {
  const block = blockOf(rows)
  const whole = await reducer.reduce([{ rows: { block, from: 0, to: rows.length } }])
  const text = shown(reducer, whole[0] as Buffer)
  for (let cut = 1; cut < rows.length; cut++) {
    const parts = await reducer.reduce([
      { rows: { block, from: 0, to: cut } },
      { rows: { block, from: cut, to: rows.length } },
    ])
    const joined = await reducer.reduce([{ reductions: parts }])
    assert.equal(shown(reducer, joined[0] as Buffer), text, `cut at ${cut}`)
  }
  return text
}

function shown(reducer: ViewReducer, reduction: Buffer): string {
  const value = reducer.present(reduction)
  return 'valueText' in value ? String(value.valueText) : `${value.error}: ${value.reason}`
}

const builtin = (name: string) => builtinReducer(name, collator, true)
const values = (...texts: string[]) => texts.map((text, i): [unknown, string] => [i, text])

test('_count counts, also under longer names', async () => {
  assert.equal(await reduced(builtin('_count'), values('1', '"x"', 'null')), '3')
  assert.equal(await reduced(builtin('_count_all'), values('1')), '1')
})

test('_sum adds numbers, arrays and objects', async () => {
  assert.equal(await reduced(builtin('_sum'), values('1', '2.5', '-4')), '-0.5')
  assert.equal(await reduced(builtin('_sum'), values('[1,2]', '[10]', '100')), '[111,2]')
  assert.equal(
    await reduced(
      builtin('_sum'),
      values('{"x":1,"y":{"z":2}}', '{"x":5,"w":7}', '{"y":{"z":40}}'),
    ),
    '{"w":7,"x":6,"y":{"z":42}}',
  )
  assert.equal(
    await reduced(builtin('_sum'), values('{"10":1}', '{"9":1}', '{"b":[1]}')),
    '{"10":1,"9":1,"b":[1]}',
  )
})

test('_sum is exact beyond the range of doubles', async () => {
  assert.equal(
    await reduced(builtin('_sum'), values('9007199254740991', '9007199254740991', '3')),
    '18014398509481985',
  )
  assert.equal(
    await reduced(builtin('_sum'), values('[9007199254740991]', '[2]')),
    '[9007199254740993]',
  )
  assert.equal(
    await reduced(builtin('_sum'), values('12345678901234567890', '-1')),
    '12345678901234567889',
  )
})

test('_sum says what it cannot add, and goes on saying it', async () => {
  const text = await reduced(builtin('_sum'), values('1', '"str"', '2'))
  const error = JSON.parse(text) as { error: string; reason: string; caused_by: unknown }
  assert.equal(error.error, 'builtin_reduce_error')
  assert.ok(
    error.reason.startsWith(
      'The _sum function requires that map values be numbers, arrays of numbers, or objects.',
    ),
  )
  assert.equal(error.caused_by, 'str')
  assert.equal(JSON.parse(await reduced(builtin('_sum'), values('["a"]'))).caused_by[0], 'a')
})

test('_sum results that do not shrink are an overflow, unless that is allowed', () => {
  const block = blockOf(
    values(
      JSON.stringify(Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`name${i}`, i]))),
    ),
  )
  const job = { rows: { block, from: 0, to: 1 } }
  const error = JSON.parse(String((builtin('_sum').reduce([job]) as Buffer[])[0])) as {
    reason: string
  }
  assert.match(
    error.reason,
    /^Reduce output must shrink more rapidly: input size: \d+ output size: \d+$/,
  )
  const allowed = builtinReducer('_sum', collator, false).reduce([job]) as Buffer[]
  assert.equal(JSON.parse(String(allowed[0])).name7, 7)
})

test('_stats of numbers, arrays and ready-made sums', async () => {
  assert.equal(
    await reduced(builtin('_stats'), values('2', '5', '-1')),
    '{"sum":6,"count":3,"min":-1,"max":5,"sumsqr":30}',
  )
  assert.equal(
    await reduced(builtin('_stats'), values('[1,10]', '[2,20]', '[3,30]')),
    '[{"sum":6,"count":3,"min":1,"max":3,"sumsqr":14},{"sum":60,"count":3,"min":10,"max":30,"sumsqr":1400}]',
  )
  assert.equal(
    await reduced(
      builtin('_stats'),
      values('{"sum":7,"count":2,"min":2,"max":5,"sumsqr":29}', '1'),
    ),
    '{"sum":8,"count":3,"min":1,"max":5,"sumsqr":30}',
  )
  assert.equal(
    await reduced(builtin('_stats'), values('4000000000', '4000000000')),
    '{"sum":8000000000,"count":2,"min":4000000000,"max":4000000000,"sumsqr":32000000000000000000}',
  )
})

test('_stats of anything else fails the index', async () => {
  for (const bad of ['"x"', 'null', '{"sum":1}', '[null]']) {
    await assert.rejects(reduced(builtin('_stats'), values('1', bad)), error => {
      assert.ok(isFailure(error, 'function_failed'))
      assert.equal(error.detail.error, 'invalid_value')
      assert.match(String(error.detail.reason), /^non-numeric _stats input: /)
      return true
    })
  }
})

test('_approx_count_distinct counts different keys', async () => {
  const few = Array.from({ length: 60 }, (_, i): [unknown, string] => [`k${i % 20}`, 'null'])
  assert.equal(await reduced(builtin('_approx_count_distinct'), few), '20')
  const many = Array.from({ length: 20_000 }, (_, i): [unknown, string] => [`key ${i}`, 'null'])
  const reducer = builtin('_approx_count_distinct')
  const block = blockOf(many)
  const [reduction] = reducer.reduce([{ rows: { block, from: 0, to: many.length } }]) as Buffer[]
  const count = Number(shown(reducer, reduction as Buffer))
  assert.ok(Math.abs(count - 20_000) < 20_000 * 0.1, `${count}`)
})

test('_first, _last, _top_N and _bottom_N', async () => {
  const rows = values('3', '"b"', '1', '3', '"a"', 'null')
  assert.equal(await reduced(builtin('_first'), rows), '3')
  assert.equal(await reduced(builtin('_last'), rows), 'null')
  assert.equal(await reduced(builtin('_top_2'), rows), '["b","a"]')
  assert.equal(await reduced(builtin('_bottom_3'), rows), '[null,1,3]')
})

test('names that are no builtin are refused', () => {
  const reasonOf = (name: string) => {
    try {
      builtin(name)
    } catch (error) {
      return isFailure(error, 'design_document_invalid') ? error.detail.reason : error
    }
    return undefined
  }
  assert.equal(reasonOf('_foo'), '`_foo` is not a supported reduce function.')
  assert.equal(reasonOf('_top_0'), 'rank value must be between 1 and 100')
  assert.equal(reasonOf('_bottom_101'), 'rank value must be between 1 and 100')
  assert.equal(reasonOf('_top_x'), 'invalid rank reducer')
})

const runJoin = async (calls: readonly ReduceCall[]) =>
  calls.map(({ keysText, valuesText }) => {
    const all =
      keysText === undefined
        ? (JSON.parse(String(valuesText)) as unknown[]).flat()
        : (JSON.parse(String(keysText)) as [unknown, string][]).map(key => key.join('/'))
    return { valueText: Buffer.from(JSON.stringify(all)) }
  })

test('functions get keys with ids, then values to reduce again', async () => {
  const reducer = functionReducer({ name: 'f', run: runJoin, limit: 'enforce' })
  assert.equal(await reduced(reducer, values('1', '2', '3')), '["0/d0","1/d1","2/d2"]')
})

test('a result that does not shrink is an error in the row, and in all larger ones', async () => {
  const long = JSON.stringify('x'.repeat(3000))
  const run = async (calls: readonly ReduceCall[]) =>
    calls.map(({ valuesText }) => ({ valueText: valuesText }))
  const reducer = functionReducer({ name: 'f', run, limit: 'enforce' })
  const block = blockOf(values(long, long, '1'))
  const parts = await reducer.reduce([
    { rows: { block, from: 0, to: 2 } },
    { rows: { block, from: 2, to: 3 } },
  ])
  const [all] = await reducer.reduce([{ reductions: parts }])
  assert.match(
    shown(reducer, all as Buffer),
    /^reduce_overflow_error: Reduce output must shrink more rapidly: input size: \d+ output size: \d+$/,
  )
  const messages: string[] = []
  const logging = functionReducer({
    name: 'f',
    run,
    limit: 'log',
    log: message => messages.push(message),
  })
  const [value] = await logging.reduce([{ rows: { block, from: 0, to: 2 } }])
  assert.ok('valueText' in logging.present(value as Buffer))
  assert.equal(messages.length, 1)
})
