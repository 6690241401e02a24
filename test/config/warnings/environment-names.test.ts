import assert from 'node:assert/strict'
import { it } from 'node:test'
import { loadText, temporaryFolder } from '../../support/config.ts'

it('warns of environment variables that look misspelled', async () => {
  const env = {
    LATCHKEY_BASEURL: 'https://id.example.org',
    LATCHKEY_MASTERKEY: '0'.repeat(64),
    LATCHKEY_PORT: '8080',
    LATCHKEY_SERVICE_HOST: '10.0.0.1', // of Kubernetes
    LATCHKEY_SHOP_SECRET: 'x',
    BASE_URL: 'x',
  }
  const { warnings } = await loadText(temporaryFolder(), 'smtp: { host: localhost }', { env })
  assert.deepEqual(warnings, [
    'LATCHKEY_BASEURL in the environment has no effect; did you mean LATCHKEY_BASE_URL?',
    'LATCHKEY_MASTERKEY in the environment has no effect; did you mean LATCHKEY_MASTER_KEY?',
  ])
})
