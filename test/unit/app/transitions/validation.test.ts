/** The language of validation rules, and short ids that check themselves. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { withChecksum } from '../../../../src/app/transitions/short-codes.ts'
import { stableUuid } from '../../../../src/app/transitions/stable-id.ts'
import { parseRule } from '../../../../src/app/transitions/validation/parse-rule.ts'
import { RULE_FUNCTIONS } from '../../../../src/app/transitions/validation/rule-functions.ts'

const nowMs = Date.parse('2026-03-10T10:00:00Z')
const say = (name: string, value: unknown, ...args: string[]): boolean => {
  const values = new Map<string, unknown>([
    ['week', 53],
    ['year', 2026],
    ['other', 'x'],
  ])
  return RULE_FUNCTIONS[name]?.({ value, args, values, nowMs }) as boolean
}

describe('validation rules', () => {
  it('are read with their precedence', () => {
    const call = (name: string, ...args: string[]) => ({ kind: 'call', name, args })
    assert.deepEqual(parseRule(`lenMin(1) && lenMax(100) || !numeric`), {
      kind: 'or',
      parts: [
        { kind: 'and', parts: [call('lenmin', '1'), call('lenmax', '100')] },
        { kind: 'not', of: call('numeric') },
      ],
    })
    assert.deepEqual(parseRule(`required ? (alpha) : in("a b", 'c\\'d', -2.5)`), {
      kind: 'choice',
      test: call('required'),
      yes: call('alpha'),
      no: call('in', 'a b', "c'd", '-2.5'),
    })
    assert.deepEqual(parseRule(`regex("^\\d+$")`), call('regex', '^\\d+$'))
  })

  it('that are no rules are told', () => {
    for (const text of ['', 'a &&', 'a b', 'min(', 'min(1', '(a', 'a ? b', '1 + 1', 'a; b']) {
      assert.throws(() => parseRule(text), { name: 'RuleError' }, text)
    }
    assert.throws(() => parseRule(`${'('.repeat(10_000)}a`), { name: 'RuleError' })
    assert.throws(() => parseRule(`${'!'.repeat(10_000)}a`), { name: 'RuleError' })
  })

  const cases: [name: string, value: unknown, args: string[], expected: boolean][] = [
    ['equals', 5, ['5'], true],
    ['iequals', 'ABC', ['abc'], true],
    ['lenmin', 'abc', ['3'], true],
    ['lenmax', 'abcd', ['3'], false],
    ['lenequals', '123', ['3'], true],
    ['min', '4', ['4'], true],
    ['max', 5, ['4'], false],
    ['between', 3, ['1', '3'], true],
    ['between', '', ['0', '3'], false],
    ['in', 'b', ['a', 'b'], true],
    ['required', 0, [], true],
    ['required', null, [], false],
    ['numeric', '1.5', [], true],
    ['integer', '1.5', [], false],
    ['integer', 12, [], true],
    ['alpha', 'abc1', [], false],
    ['alphanumeric', 'abc1', [], true],
    ['email', 'a@b.org', [], true],
    ['email', 'a@b', [], false],
    ['equalsto', 'x', ['other'], true],
    ['isafter', '2026-03-01', ['-2 weeks'], true],
    ['isafter', '2026-01-01', ['-2 weeks'], false],
    ['isbefore', '2026-03-01', ['0 days'], true],
    ['isisoweek', undefined, ['week', 'year'], true],
    ['isisoweek', undefined, ['other', 'year'], false],
  ]
  for (const [name, value, args, expected] of cases) {
    it(`${name}(${args}) of ${JSON.stringify(value)} is ${expected}`, () => {
      assert.equal(say(name, value, ...args), expected)
    })
  }
})

describe('ids', () => {
  it('end in a digit that checks the others', () => {
    assert.equal(withChecksum('1234'), '12348')
    assert.equal(withChecksum('1324'), '13249')
    assert.equal(withChecksum('0000').length, 5)
  })

  it('that must come out the same do', () => {
    assert.equal(stableUuid('a', 'b'), stableUuid('a', 'b'))
    assert.notEqual(stableUuid('a', 'b'), stableUuid('ab', ''))
    assert.match(
      stableUuid('x'),
      /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    )
  })
})
