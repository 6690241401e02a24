import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText, temporaryFolder } from '../../support/config.ts'

describe('Warnings about example secrets', () => {
  const folder = temporaryFolder()
  const records = (secret: string): object => ({
    clients: [{ client_id: 'shop', client_secret: secret, authorized_grant_types: ['client_credentials'] }],
    users: [{ userName: 'ann', password: secret, emails: [{ value: 'ann@example.org' }] }],
  })
  async function warned(bootstrap: object, base_url = 'https://id.example.org'): Promise<readonly string[]> {
    const smtp = { host: 'localhost', from: 'id@example.org' }
    return (await loadText(folder, JSON.stringify({ base_url, smtp, bootstrap }))).warnings
  }
  const printed = 'is an example from the documentation, which is public: replace it'
  const want = [`client shop: client_secret ${printed}`, `user ann: password ${printed}`]

  it('are given in every zone', async () => {
    assert.deepEqual(await warned(records('change-me')), want)
    const zone = { id: 'z1', subdomain: 'z1', name: 'Z', bootstrap: records('a-long-random-secret') }
    assert.deepEqual(await warned({ identity_zones: [zone] }), want)
  })

  it('are not given for other secrets, or if the server is on loopback', async () => {
    assert.deepEqual(await warned(records('a secret of our own')), [])
    assert.deepEqual(await warned(records('change-me'), 'http://localhost:8080'), [])
  })

  it('cover every secret in the documentation', async () => {
    for (const secret of [
      'change-me-too',
      'another-random-secret',
      'a-good-password',
      'adminsecret',
      '<shop secret>',
    ]) {
      assert.deepEqual(await warned(records(secret)), want, secret)
    }
  })
})
