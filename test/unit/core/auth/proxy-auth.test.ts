import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import { buildAuthSettings } from '../../../../src/core/auth/auth-settings.ts'
import { readProxyUser } from '../../../../src/core/auth/proxy-auth.ts'

describe('proxy', () => {
  const { proxy } = buildAuthSettings()
  const token = { secret: 's3cret', algorithms: ['sha256'] as const }
  const ask = (
    headers: Record<string, string>,
    given: Partial<typeof proxy> = {},
    secret: string | undefined = token.secret,
  ) => readProxyUser(name => headers[name], { ...proxy, ...given }, { ...token, secret })
  const mac = (digest: string, name = 'joe') =>
    createHmac(digest, token.secret).update(name).digest('hex')

  it('takes name and roles from the headers, under both names', () => {
    const user = { name: 'joe', roles: ['a', 'b c'], authenticated: 'proxy' as const }
    assert.deepEqual(ask({ 'x-auth-svc-username': 'joe', 'x-auth-svc-roles': 'a,b c,' }), user)
    assert.deepEqual(
      ask({ 'x-auth-couchdb-username': 'joe', 'x-auth-couchdb-roles': 'a,b c' }),
      user,
    )
    assert.equal(ask({ 'x-auth-svc-roles': '_admin' }), undefined)
  })

  it('needs the right token with proxy_use_secret', () => {
    const name = { 'x-auth-svc-username': 'joe' }
    const useSecret = { useSecret: true }
    for (const digest of ['sha1', 'sha256']) {
      assert.ok(ask({ ...name, 'x-auth-svc-token': mac(digest) }, useSecret), digest)
    }
    for (const wrong of [
      {},
      { 'x-auth-svc-token': 'x' },
      { 'x-auth-svc-token': mac('sha1', 'jim') },
    ]) {
      assert.equal(ask({ ...name, ...wrong }, useSecret), undefined)
    }
  })

  it('lets nobody in when a secret is demanded and there is none', () => {
    const empty = createHmac('sha1', '').update('joe').digest('hex')
    const headers = { 'x-auth-svc-username': 'joe', 'x-auth-svc-token': empty }
    const user = readProxyUser(
      name => headers[name as keyof typeof headers],
      { ...proxy, useSecret: true },
      { secret: undefined, algorithms: ['sha'] },
    )
    assert.equal(user, undefined)
  })

  it('listens only to the configured names when there are some', () => {
    const { proxy: named } = buildAuthSettings({ proxyUserHeader: 'X-Who' })
    assert.equal(ask({ 'x-auth-svc-username': 'joe' }, named), undefined)
    assert.equal(ask({ 'x-who': 'joe' }, named)?.name, 'joe')
  })
})
