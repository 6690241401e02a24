import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { SIGNING_ALGORITHMS } from '../../src/model/signing-key.ts'
import type { SigningAlgorithm } from '../../src/model/signing-key.ts'
import { privatePem } from '../support/config.ts'
import { freshDatabase } from '../support/databases.ts'
import { startServer } from '../support/server.ts'
import { isAlive, MODES, passwordTokens, refused, SERVICE, tokensOf, verified } from '../support/oauth.ts'

const rsa = privatePem('rsa', 2048)
const ALGORITHMS: Readonly<Record<SigningAlgorithm, { readonly pem: string; readonly hash: string }>> = {
  RS256: { pem: rsa, hash: 'sha256' },
  RS384: { pem: rsa, hash: 'sha384' },
  RS512: { pem: rsa, hash: 'sha512' },
  PS256: { pem: rsa, hash: 'sha256' },
  PS384: { pem: rsa, hash: 'sha384' },
  PS512: { pem: rsa, hash: 'sha512' },
  ES256: { pem: privatePem('ec', 'P-256'), hash: 'sha256' },
  ES384: { pem: privatePem('ec', 'P-384'), hash: 'sha384' },
  ES512: { pem: privatePem('ec', 'P-521'), hash: 'sha512' },
  EdDSA: { pem: privatePem('ed25519'), hash: 'sha512' }, // RFC 8032: the hash inside Ed25519
}
const FORM = { grant_type: 'client_credentials' }
const keys = (alg: SigningAlgorithm) => ({
  signing_keys: { active: 'key', keys: { key: { alg, pem: ALGORITHMS[alg].pem } } },
})

describe('a zone that signs', () => {
  for (const alg of SIGNING_ALGORITHMS) {
    it(`with ${alg}: anybody can verify, at_hash fits, and the server knows its own token`, async () => {
      const server = await startServer({ config: keys(alg) })
      try {
        const { access_token: token } = tokensOf(await server.token(FORM, { basic: SERVICE }))
        const { header } = await verified(server, token, {
          algorithms: [alg],
          audience: 'service',
          issuer: server.baseUrl,
        })
        assert.deepEqual(header, { alg, kid: 'key', typ: 'at+jwt' })
        assert.ok(await isAlive(server, token))

        const tokens = await passwordTokens(server)
        const { payload } = await verified(server, tokens.id_token, { algorithms: [alg], audience: 'app' })
        const whole = createHash(ALGORITHMS[alg].hash).update(tokens.access_token).digest()
        assert.equal(payload['at_hash'], whole.subarray(0, whole.length / 2).toString('base64url'))

        const metadata = (await server.send('/.well-known/openid-configuration')).json()
        const listed = alg === 'RS256' ? ['RS256'] : ['RS256', alg]
        assert.deepEqual(metadata['id_token_signing_alg_values_supported'], listed)
        assert.deepEqual(server.faults, [])
      } finally {
        await server.stop()
      }
    })
  }

  it('chooses the key by its id, so that tokens outlive a change of the active one', async () => {
    const database = await freshDatabase('sqlite')
    const old = { alg: 'RS256', pem: rsa }
    const next = { alg: 'ES256', pem: ALGORITHMS.ES256.pem }
    try {
      const before = await startServer({
        database: database.url,
        config: { signing_keys: { active: 'old', keys: { old } } },
      })
      const { access_token: first } = tokensOf(await before.token(FORM, { basic: SERVICE }))
      await before.stop()
      const server = await startServer({
        database: database.url,
        config: { signing_keys: { active: 'next', keys: { old, next } } },
      })
      try {
        const { access_token: second } = tokensOf(await server.token(FORM, { basic: SERVICE }))
        for (const [token, kid] of [
          [first, 'old'],
          [second, 'next'],
        ] as const) {
          assert.equal((await verified(server, token)).header.kid, kid)
          assert.ok(await isAlive(server, token), kid)
        }
        assert.equal((await server.send('/token_key')).json()['kid'], 'next')
      } finally {
        await server.stop()
      }
    } finally {
      await database.drop()
    }
  })
})

describe('a zone whose keys only verify', () => {
  for (const mode of MODES) {
    it(`issues nothing and says why only where UAA does (C11), ${mode}`, async () => {
      const server = await startServer({ mode, config: keys('RS256') })
      try {
        const [{ sealedPrivateKey: _, ...verifying } = assert.fail()] = await server.store.keys.list('svc')
        await server.store.keys.save('svc', verifying)
        await refused(server, mode, () => server.token(FORM, { basic: SERVICE }), {
          want: { standard: '500 server_error', uaa: '401 unauthorized' },
          description:
            mode === 'uaa' ? 'Unable to sign token, misconfigured JWT signing keys' : 'Internal Server Error',
        })
        const told = (await server.send('/token_keys')).json<{ keys: readonly { kid: string }[] }>()
        assert.deepEqual(
          told.keys.map(({ kid }) => kid),
          ['key'],
        )
      } finally {
        await server.stop()
      }
    })
  }
})
