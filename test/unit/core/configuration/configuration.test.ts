import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isFailure } from '../../../../src/base/errors.ts'
import { parseIni } from '../../../../src/base/ini.ts'
import {
  Configuration,
  checkChange,
  firstProblem,
} from '../../../../src/core/configuration/configuration.ts'
import { SETTINGS } from '../../../../src/core/configuration/settings.ts'

describe('configuration', () => {
  it('gives the default where nothing is set and the value where something is', () => {
    const configuration = new Configuration()
    assert.equal(configuration.get(SETTINGS.maxDocumentSize), 8_000_000)
    configuration.apply({ section: 'couchdb', key: 'max_document_size', value: '300' })
    assert.equal(configuration.get(SETTINGS.maxDocumentSize), 300)
    configuration.apply({ section: 'couchdb', key: 'max_document_size', value: undefined })
    assert.equal(configuration.get(SETTINGS.maxDocumentSize), 8_000_000)
  })

  it('has one value behind the several names of a section', () => {
    const configuration = new Configuration(parseIni('[couch_httpd_auth]\ntimeout = 42\n'))
    for (const section of ['svc_httpd_auth', 'couch_httpd_auth', 'chttpd_auth']) {
      assert.equal(configuration.text(section, 'timeout'), '42')
      assert.deepEqual(configuration.section(section), { timeout: '42' })
    }
    configuration.apply({ section: 'chttpd_auth', key: 'timeout', value: '43' })
    assert.equal(configuration.get(SETTINGS.sessionTimeoutS), 43)
    assert.deepEqual(Object.keys(configuration.sections()), ['svc_httpd_auth'])
  })

  it('reads HTTP options from chttpd, else from httpd, but not the port', () => {
    const configuration = new Configuration(parseIni('[httpd]\nenable_cors = true\nport = 1\n'))
    assert.equal(configuration.get(SETTINGS.enableCors), true)
    assert.equal(configuration.get(SETTINGS.port), 5984)
  })

  it('tells its listeners of every change until they leave', () => {
    const configuration = new Configuration()
    let count = 0
    const leave = configuration.onChange(() => count++)
    configuration.apply({ section: 'a', key: 'b', value: 'c' })
    leave()
    configuration.apply({ section: 'a', key: 'b', value: 'd' })
    assert.equal(count, 1)
  })

  it('drops a section with its last value', () => {
    const configuration = new Configuration(parseIni('[admins]\njoe = x\n'))
    assert.equal(configuration.hasSection('admins'), true)
    configuration.apply({ section: 'admins', key: 'joe', value: undefined })
    assert.equal(configuration.hasSection('admins'), false)
  })
})

describe('values that no setting can have', () => {
  const refused: [string, string, string][] = [
    ['couchdb', 'max_document_size', 'abc'],
    ['couchdb', 'max_document_size', '0'],
    ['chttpd', 'require_valid_user', 'yes'],
    ['svc', 'dialect', 'latin'],
    ['chttpd_auth', 'timeout', '-1'],
    ['a[b', 'key', 'v'],
    ['a', 'key]', 'v'],
    ['a', 'key', 'line\nfeed'],
    ['', 'key', 'v'],
  ]
  for (const [section, key, value] of refused) {
    it(`refuses [${JSON.stringify(section)}] ${JSON.stringify(key)} = ${JSON.stringify(value)}`, () => {
      assert.throws(
        () => checkChange({ section, key, value }),
        thrown => isFailure(thrown, 'config_invalid'),
      )
    })
  }

  it('takes any value of a setting it does not know', () => {
    checkChange({ section: 'mine', key: 'anything', value: 'a;b=c "quoted"' })
  })

  it('finds the first bad value of a file', () => {
    assert.equal(firstProblem(new Configuration()), undefined)
    const bad = new Configuration(parseIni('[chttpd]\nport = many\n'))
    assert.match(String(firstProblem(bad)), /\[chttpd\] port = many/)
  })
})
