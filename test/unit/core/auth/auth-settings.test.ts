import assert from 'node:assert/strict'
import { it } from 'node:test'
import { buildAuthSettings, parseHandlers } from '../../../../src/core/auth/auth-settings.ts'

it('handler lists', () => {
  const cases: [string, string[]][] = [
    [
      '{chttpd_auth, cookie_authentication_handler}, {chttpd_auth, default_authentication_handler}',
      ['cookie', 'default'],
    ],
    ['[{svc_httpd_auth,proxy_authentication_handler}]', ['proxy']],
    [
      '{couch_httpd_auth, proxy_authentification_handler},{chttpd_auth, jwt_authentication_handler}',
      ['proxy', 'jwt'],
    ],
    ['', []],
  ]
  for (const [text, handlers] of cases) assert.deepEqual(parseHandlers(text), handlers)
  for (const bad of [
    'cookie',
    '{chttpd_auth}',
    '{chttpd_auth, x}',
    '{os, cookie_authentication_handler}',
    '{chttpd_auth, toString}',
    '{a,',
  ]) {
    assert.throws(() => parseHandlers(bad), { code: 'config_invalid' }, bad)
  }
})

it('digests, fields and the cookie domain', () => {
  const settings = buildAuthSettings({ hashAlgorithms: 'sha512 ,sha1', publicFields: ' a, b,' })
  assert.deepEqual(settings.hashAlgorithms, ['sha512', 'sha'])
  assert.deepEqual(settings.publicFields, ['a', 'b'])
  for (const bad of [{ hashAlgorithms: '' }, { hashAlgorithms: 'md5' }, { cookieDomain: 'a; b' }]) {
    assert.throws(() => buildAuthSettings(bad), { code: 'config_invalid' })
  }
})
