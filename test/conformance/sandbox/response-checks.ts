/** Show functions: responses, provides, errors. */
import assert from 'node:assert/strict'
import { isFailure } from '../../../src/base/errors.ts'
import type { DesignSource } from '../../../src/core/sandbox/sandbox.ts'
import { designDocument, type Fixture, json } from './sandbox-fixture.ts'
import type { Check } from './suite.ts'

const show = async (
  { sandbox }: Fixture,
  design: DesignSource,
  name: string,
  request: object = {},
): Promise<unknown> => JSON.parse(String(await sandbox.show(design, name, null, json(request))))

const negotiate = `function(doc, req){
  registerType('special', 'application/x-special', 'text/x-special')
  provides('html', function(){ return '<b>' + this.marker + '</b>' })
  provides('json', function(){ return {code: 203, json: {a: 1}} })
  provides('special', function(){ return {body: 's', headers: {'content-type': 'x/y'}} }) }`

const shows = {
  text: 'function(doc, req){ return "plain" }',
  object: 'function(doc, req){ return {code: 418, headers: {"X-A": "b"}, json: {doc: doc}} }',
  nothing: 'function(){ }',
  number: 'function(){ return 7 }',
  sends: 'function(){ send("a"); send(1); return {body: "b"} }',
  negotiate,
  error: 'function(){ throw new Error("bad") }',
  thrown: 'function(){ throw {strange: true} }',
  missing: 'function(){ throw ["error", "not_found", "custom"] }',
  refused: 'function(){ throw ["error", "forbidden", "not you"] }',
  own: 'function(){ throw {error: "mine", reason: "because"} }',
}

export const responseChecks: readonly Check[] = [
  [
    'show answers the response object as JSON',
    async fixture => {
      const design = designDocument({ shows })
      assert.deepEqual(await show(fixture, design, 'text'), { body: 'plain' })
      assert.deepEqual(await show(fixture, design, 'object'), {
        code: 418,
        headers: { 'X-A': 'b' },
        json: { doc: null },
      })
      assert.deepEqual(await show(fixture, design, 'nothing'), {})
      assert.deepEqual(await show(fixture, design, 'sends'), { body: 'a1b' })
      // What one call sent must not show in the next.
      assert.deepEqual(await show(fixture, design, 'text'), { body: 'plain' })
    },
  ],
  [
    'provides picks by format, then by Accept, then the first',
    async fixture => {
      const design = designDocument({ shows, marker: 'm' })
      const by = (accept?: string, format?: string): Promise<unknown> =>
        show(fixture, design, 'negotiate', {
          query: format === undefined ? {} : { format },
          headers: accept === undefined ? {} : { Accept: accept },
        })
      const html = { body: '<b>m</b>', headers: { 'Content-Type': 'text/html; charset=utf-8' } }
      const type = 'application/json'
      const asJson = { code: 203, json: { a: 1 }, headers: { 'Content-Type': type } }
      assert.deepEqual(await by(), html)
      assert.deepEqual(await by('*/*'), html)
      assert.deepEqual(await by('text/html'), html)
      assert.deepEqual(await by(type), asJson)
      assert.deepEqual(await by('text/html;q=0.5, application/json'), asJson)
      assert.deepEqual(await by('text/*;q=0.1, application/json;q=0'), html)
      assert.deepEqual(await by('text/html', 'json'), asJson)
      assert.deepEqual(await by('text/x-special'), {
        body: 's',
        headers: { 'content-type': 'x/y' },
      })
      await assert.rejects(by('image/png'), thrown => {
        assert.ok(isFailure(thrown, 'not_acceptable'))
        assert.match(
          String(thrown.detail.reason),
          /^Content-Type image\/png not supported, try one/,
        )
        return true
      })
    },
  ],
  [
    'errors of a show function keep their name, others are rendering errors',
    async fixture => {
      const design = designDocument({ shows })
      const failure = async (name: string): Promise<unknown[]> => {
        const thrown = await show(fixture, design, name).catch((error: unknown) => error)
        assert.ok(isFailure(thrown), name)
        return [thrown.code, thrown.detail.error, thrown.detail.reason]
      }
      assert.deepEqual(await failure('missing'), ['document_missing', 'not_found', 'custom'])
      assert.deepEqual(await failure('refused'), ['forbidden', 'forbidden', 'not you'])
      assert.deepEqual(await failure('own'), ['function_failed', 'mine', 'because'])
      const undefinedText = 'undefined response from show function'
      assert.deepEqual(await failure('number'), ['function_failed', 'render_error', undefinedText])
      const [code, error, reason] = await failure('error')
      assert.deepEqual([code, error], ['function_failed', 'render_error'])
      assert.match(String(reason), /^function raised error: Error: bad \nstacktrace: /)
      const [, , strange] = await failure('thrown')
      assert.match(String(strange), /^function raised error: \{"strange":true\}/)
    },
  ],
]
