import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parseIni } from '../../../../src/base/ini.ts'
import { defaultIni } from '../../../../src/core/configuration/default-ini.ts'

it('shows only the values that clients expect to read', () => {
  const shown = [...parseIni(defaultIni())].flatMap(([section, values]) =>
    [...values].map(([key, value]) => `${section}/${key}=${value}`),
  )
  assert.deepEqual(shown, ['chttpd/port=5984', 'chttpd/bind_address=127.0.0.1', 'httpd/port=5986'])
})
