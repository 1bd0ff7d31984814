/** Documents that are printed from code are in step with it, and no setting is accepted and ignored. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { generatedDocs } from '../../scripts/generated-docs.ts'
import { SETTINGS } from '../../src/core/configuration/settings.ts'
import { ROOT, sourceFiles } from './source-tree.ts'

describe('documents', () => {
  for (const [path, text] of Object.entries(generatedDocs())) {
    it(`${path} is what the code prints (npm run docs)`, () => {
      assert.equal(readFileSync(join(ROOT, path), 'utf8'), text)
    })
  }
})

describe('settings', () => {
  it('are all read somewhere', () => {
    const code = sourceFiles()
      .filter(file => !file.path.startsWith('src/core/configuration/'))
      .map(file => file.text)
      .join('\n')
    const unread = Object.keys(SETTINGS).filter(name => !code.includes(`SETTINGS.${name}`))
    assert.deepEqual(unread, [])
  })

  it('and every difference of the dialects is asked for somewhere', () => {
    const code = sourceFiles()
      .filter(file => !file.path.startsWith('src/core/dialect/'))
      .map(file => file.text)
      .join('\n')
    const table = readFileSync(join(ROOT, 'src/core/dialect/dialect.ts'), 'utf8')
    const fields = [...table.matchAll(/^ {2}readonly (\w+):/gm)].map(match => match[1] as string)
    const unasked = fields.filter(
      name => name !== 'name' && !new RegExp(`\\b${name}\\b`).test(code),
    )
    assert.deepEqual(unasked, [])
  })
})
