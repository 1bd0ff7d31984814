/**
 * The program is shipped as the text of functions: a part that uses an import, or a part that nobody
 * put on the list, would only fail inside a process. These tests run the text here.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import vm from 'node:vm'
import { programText, realmText } from '../../../../src/core/sandbox/program/program-text.ts'
import type { Realm } from '../../../../src/core/sandbox/program/realm-main.ts'

const openRealm = (): Realm => {
  const context = vm.createContext({})
  return vm.runInContext(realmText(), context)(() => '1[]') as Realm
}

describe('program text', () => {
  it('is one module that parses', () => {
    const text = programText({ heapBytesMax: 1000 })
    const script = text.replace(/^import .*$/m, '').replace('await import', '')
    assert.doesNotThrow(() => new vm.Script(`(function(){${script}})`))
    assert.match(text, /childMain\(io, makeRealm, 1000\)/)
  })

  it('refers to nothing that is not in it, in every operation', () => {
    const realm = openRealm()
    const views = { maps: ['d => emit(d)'], reduces: ['(k, v) => sum(v)'], lib: {} }
    assert.equal(realm.open('views', JSON.stringify(views)), '')
    assert.equal(realm.begin('map', '', '[1]'), '')
    assert.equal(realm.step(0), '1\x1fnull\x1e\x1d')
    assert.equal(realm.begin('reduce', '', '{"limit":"on","groups":[[0,5,null,[1,2]]]}'), '')
    assert.equal(realm.step(0), '3\x1e')
    const design = {
      validate_doc_update: 'function(){ throw({forbidden: 1}) }',
      filters: { f: 'd => d' },
      views: { v: { map: 'd => emit(d)' } },
      shows: { s: '() => { provides("json", () => "x") }' },
      updates: { u: '() => [null, "x"]' },
      rewrites: 'req => "x"',
      lists: { l: '() => { getRow(); return "x" }' },
    }
    const other = openRealm()
    assert.equal(other.open('design', JSON.stringify(design)), '')
    const run = (operation: string, name: string, body: object): string =>
      other.begin(operation, name, JSON.stringify(body)) || other.step(0)
    const body = { items: [[1, null]], docs: [1], req: { query: { format: 'json' } } }
    assert.match(run('validate', '', body), /^\x15\{"form":"object"/)
    assert.equal(run('filter', 'f', body), '1')
    assert.equal(run('view-filter', 'v', body), '1')
    assert.match(run('show', 's', body), /^\{"body":"x"/)
    assert.equal(run('update', 'u', body), 'null\x1e{"body":"x"}\x1e')
    assert.equal(run('rewrite', '', body), '"x"')
    assert.equal(run('list', 'l', body), '+x')
    assert.equal(run('compile', '', ['function(){}']), '\x1e')
  })
})
