import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, it } from 'node:test'
import { loadText, temporaryFolder } from '../../support/config.ts'
import { rsaKeys } from '../../support/rsa-keys.ts'

const folder = temporaryFolder()
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' })
const rsa = rsaKeys().privateKey.export({ type: 'pkcs8', format: 'pem' })
const ES = { alg: 'ES256', pem: ec }
const RS = { alg: 'RS256', pem: rsa }
const HS = { alg: 'HS256', secret: 'a-secret-of-more-than-32-bytes-for-hs256' }

/** The warnings about keys, of a file with these keys; the first is active. */
async function warningsOf(compatibility: string, ...keys: readonly object[]): Promise<readonly string[]> {
  const signing_keys = { active: 'k0', keys: Object.fromEntries(keys.map((key, index) => [`k${index}`, key])) }
  const { warnings } = await loadText(folder, JSON.stringify({ compatibility, service: 'svc', signing_keys }))
  return warnings.filter(warning => warning.includes('/token_keys'))
}

describe('Warnings about the active signing key', () => {
  it('are given in uaa if few clients can fetch it', async () => {
    const want =
      'signing_keys: with compatibility: uaa, /token_keys shows the active ES256 key only to clients with the authority svc.resource; others cannot verify its tokens'
    assert.deepEqual(await warningsOf('uaa', ES, RS), [want])
  })

  it('are given for other zones', async () => {
    const config = { tokenPolicy: { activeKeyId: 'k', keys: { k: { signingKey: ec } } } }
    const identity_zones = [{ id: 'z1', subdomain: 'z1', name: 'Z', config }]
    const { warnings } = await loadText(folder, JSON.stringify({ compatibility: 'uaa', bootstrap: { identity_zones } }))
    assert.equal(warnings.filter(warning => /^zone z1: .*ES256/.test(warning)).length, 1)
  })

  for (const { name, compatibility, keys } of [
    { name: 'an RSA key', compatibility: 'uaa', keys: [RS, ES] },
    { name: 'a shared secret, known to resource servers', compatibility: 'uaa', keys: [HS] },
    { name: 'any key in standard, which publishes all', compatibility: 'standard', keys: [ES] },
  ]) {
    it(`are not given for ${name}`, async () => assert.deepEqual(await warningsOf(compatibility, ...keys), []))
  }
})
