import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isFailure } from '../../../../src/base/errors.ts'
import { parseJson, printJson } from '../../../../src/base/json/exact-json.ts'
import { parseViewQuery } from '../../../../src/http/couch/parse-view-query.ts'
import { Query } from '../../../../src/http/kit/url.ts'

const keyOf = (text: string): string | undefined =>
  parseViewQuery(new Query(`key=${encodeURIComponent(text)}`)).startKey?.toString()

/** All printable ASCII that stands in a JSON text as itself. */
const ascii = Array.from({ length: 95 }, (_, at) => String.fromCharCode(0x20 + at))
  .filter(char => char !== '"' && char !== '\\')
  .join('')

it('keys are what they mean, however they are written', () => {
  const plain = [`"${ascii}"`, `["${ascii}",0,12,"a"]`, '[]', '0', '123456789012345', '""']
  const others = ['[ 1 , "a"]', '1.50', '-0', '1e3', '"\\u0041\\n"', '"é\u007f"', '{"b":1,"a":[]}']
  const nested = ['[1,[2,"x"],null,true]', '12345678901234567890', '["a",-1]']
  for (const text of [...plain, ...others, ...nested]) {
    assert.equal(keyOf(text), printJson(parseJson(text)), text)
  }
})

it('what is no JSON is no key', () => {
  const texts = ['[1,]', '[,1]', '01', '[', '', '["a""b"]', '[1 2]', '"a"b"', '1,2', '"a', '"a"\n"']
  for (const text of texts) {
    assert.throws(
      () => keyOf(text),
      thrown => isFailure(thrown, 'request_invalid'),
      text,
    )
  }
})
