import assert from 'node:assert/strict'
import { it } from 'node:test'
import { accepts, namesType, parseAccept } from '../../../../src/http/kit/accept.ts'

it('accepts by name, family, wildcard and absence', () => {
  const table: [string | undefined, string, boolean, boolean][] = [
    [undefined, 'multipart/mixed', true, false],
    ['', 'multipart/mixed', true, false],
    ['*/*', 'multipart/mixed', true, false],
    ['application/json', 'multipart/mixed', false, false],
    ['multipart/*', 'multipart/mixed', true, false],
    ['text/html, Application/JSON;q=0.5', 'application/json', true, true],
    ['application/json;q=0, */*', 'application/json', false, false],
    ['text/*;q=0, */*', 'text/plain', false, false],
    ['application/json ; q = 0.1', 'application/json', true, true],
    ['application/json;charset=utf-8', 'application/json', true, true],
  ]
  for (const [header, type, isAccepted, isNamed] of table) {
    const accepted = parseAccept(header)
    assert.equal(accepts(accepted, type), isAccepted, `${header} accepts ${type}`)
    assert.equal(namesType(accepted, type), isNamed, `${header} names ${type}`)
  }
})
