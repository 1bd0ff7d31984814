import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isFailure } from '../../src/base/errors.ts'
import { readCommandLine } from '../../src/command-line.ts'

function serve(argv: string[], env: Record<string, string> = {}) {
  const command = readCommandLine(argv, env)
  assert.equal(command.name, 'serve')
  return command.name === 'serve' ? command.options : assert.fail()
}

describe('the command line', () => {
  it('serves by default, with ./data and the embedded engine', () => {
    const options = serve([])
    assert.equal(options.dataFolder, './data')
    assert.equal(options.engine, 'embedded')
    assert.deepEqual(options.overrides, [])
    assert.ok(options.workerCount >= 1)
  })

  it('reads flags, and the environment where a flag is missing', () => {
    const options = serve(['serve', '--port', '0', '--admin', 'joe:se:cret'], {
      GURNEY_PORT: '7',
      GURNEY_NODE_PORT: 'off',
      GURNEY_BIND: '::1',
      GURNEY_WORKERS: '3',
      GURNEY_DIALECT: 'couchdb',
    })
    assert.deepEqual(options.admin, { name: 'joe', password: 'se:cret' })
    assert.equal(options.workerCount, 3)
    assert.deepEqual(options.overrides, [
      ['chttpd', 'port', '0'],
      ['httpd', 'port', 'off'],
      ['chttpd', 'bind_address', '::1'],
      ['svc', 'dialect', 'couchdb'],
    ])
  })

  it('knows the builds server', () => {
    assert.deepEqual(readCommandLine(['builds', 'here', '--port', '0'], {}), {
      name: 'builds',
      options: { folder: 'here', port: 0, host: '127.0.0.1' },
    })
    const { overrides } = serve([], { GURNEY_BUILDS_URL: 'http://127.0.0.1:5990/builds' })
    assert.deepEqual(overrides, [['svc', 'builds_url', 'http://127.0.0.1:5990/builds']])
  })

  const mistakes: [string[], RegExp][] = [
    [['builds'], /say which folder/],
    [['builds', 'one', 'two'], /say which folder/],
    [['--builds-url', 'somewhere'], /--builds-url must be/],
    [['--port', 'many'], /--port must be a whole number/],
    [['--port', '70000'], /--port must be/],
    [['--workers', '0'], /--workers must be/],
    [['--admin', 'joe'], /NAME:PASSWORD/],
    [['--dialect', 'latin'], /spec or couchdb/],
    [['--bogus'], /bogus/],
    [['launch'], /unknown command/],
  ]
  for (const [argv, text] of mistakes) {
    it(`says in one line what is wrong with ${argv.join(' ')}`, () => {
      assert.throws(
        () => readCommandLine(argv, {}),
        thrown => {
          assert.ok(isFailure(thrown))
          const reason = String(thrown.detail.reason)
          assert.match(reason, text)
          assert.doesNotMatch(reason, /\n/)
          return true
        },
      )
    })
  }
})
