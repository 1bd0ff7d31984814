import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseIni, setIniValue } from '../../../src/base/ini.ts'

const read = (text: string, section: string, key: string) => parseIni(text).get(section)?.get(key)

describe('ini text', () => {
  it('has sections, values and comments', () => {
    const text = '; note\n[one]\na = 1 ; why\nb=two words\n# other\n[two]\r\nc = x=y;z\r\n'
    assert.equal(read(text, 'one', 'a'), '1')
    assert.equal(read(text, 'one', 'b'), 'two words')
    assert.equal(read(text, 'two', 'c'), 'x=y;z')
  })

  it('gives every value back as it was set', () => {
    for (const value of [
      '',
      'plain',
      'a;b=c',
      'blank ; then more',
      '; first',
      '"quoted"',
      'ünï',
      '[x]',
      'a = b',
    ]) {
      assert.equal(read(setIniValue('', { section: 's', key: 'k' }, value), 's', 'k'), value, value)
    }
  })

  it('changes one line and leaves the rest of the file alone', () => {
    const text = '; mine\n[one]\na = 1\n; keep\nb = 2\n\n[two]\nc = 3\n'
    const changed = setIniValue(text, { section: 'one', key: 'a' }, '9')
    assert.equal(changed, '; mine\n[one]\na = 9\n; keep\nb = 2\n\n[two]\nc = 3\n')
    const added = setIniValue(changed, { section: 'one', key: 'd' }, '4')
    assert.equal(added, '; mine\n[one]\na = 9\n; keep\nb = 2\nd = 4\n\n[two]\nc = 3\n')
    const removed = setIniValue(added, { section: 'two', key: 'c' }, undefined)
    assert.equal(removed, '; mine\n[one]\na = 9\n; keep\nb = 2\nd = 4\n\n[two]\n')
    assert.equal(setIniValue(removed, { section: 'nope', key: 'c' }, undefined), removed)
  })
})
