import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { privatePem } from '../support/config.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import { MODES, refused } from '../support/oauth.ts'

type Jwk = Readonly<Record<string, string>>

const signingKeys = {
  active: 'rsa',
  keys: {
    rsa: { alg: 'RS256', pem: privatePem('rsa', 2048) },
    ec: { alg: 'ES256', pem: privatePem('ec', 'P-256') },
    ed: { alg: 'EdDSA', pem: privatePem('ed25519') },
  },
}
const PRIVATE = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

for (const mode of MODES) {
  describe(`GET /token_keys and /token_key, ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode, config: { signing_keys: signingKeys } })))
    after(() => server.stop())
    const keys = async (): Promise<readonly Jwk[]> =>
      (await server.send('/token_keys')).json<{ keys: readonly Jwk[] }>().keys

    it('publishes every key, the active one first', async () => {
      const told = await keys()
      assert.equal(told[0]?.['kid'], 'rsa')
      assert.deepEqual(
        new Set(told.map(({ kid, alg, kty, use }) => [kid, alg, kty, use].join(' '))),
        new Set(['ec ES256 EC sig', 'ed EdDSA OKP sig', 'rsa RS256 RSA sig']),
      )
    })

    it('gives each kind its public members and no private one', async () => {
      const members = Object.fromEntries((await keys()).map(key => [key['kid'], Object.keys(key).toSorted()]))
      assert.deepEqual(members, {
        rsa: ['alg', 'e', 'kid', 'kty', 'n', 'use', 'value'],
        ec: ['alg', 'crv', 'kid', 'kty', 'use', 'value', 'x', 'y'],
        ed: ['alg', 'crv', 'kid', 'kty', 'use', 'value', 'x'],
      })
      for (const member of PRIVATE)
        assert.ok(
          Object.values(members).every(each => !each.includes(member)),
          member,
        )
    })

    it('gives the same key as PEM', async () => {
      for (const { value = '', kid = '', ...jwk } of await keys()) {
        assert.match(value, /^-----BEGIN PUBLIC KEY-----\n/)
        const same = createPublicKey({ key: { ...jwk }, format: 'jwk' }).equals(createPublicKey(value))
        assert.ok(same, kid)
      }
    })

    it('tells the active key alone at /token_key', async () => {
      assert.deepEqual((await server.send('/token_key')).json(), (await keys())[0])
    })

    for (const path of ['/token_keys', '/token_key']) {
      it(`answers 304 to the tag of ${path}, quoted only in standard (M6)`, async () => {
        const tag = String((await server.send(path)).headers['etag'])
        assert.match(tag, mode === 'standard' ? /^"[\w-]{22}"$/ : /^\d+$/)
        const again = await server.send(path, { headers: { 'if-none-match': tag } })
        assert.deepEqual([again.status, again.text], [304, ''])
      })

      it(`answers 200 to another tag of ${path}`, async () => {
        for (const other of ['"other"', '1', '', 'W/"other", "x"']) {
          assert.equal((await server.send(path, { headers: { 'if-none-match': other } })).status, 200, other)
        }
      })

      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
        it(`answers 405 to ${method} ${path}`, async () => {
          const answer = await refused(server, mode, () => server.send(path, { method }), {
            want: '405 method_not_allowed',
          })
          assert.equal(answer.headers['allow'], 'GET')
        })
      }
    }
  })

  describe(`the tag of /token_keys, ${mode}`, () => {
    it('changes when a key is added, although the zone does not', async () => {
      const server = await startServer({ mode, config: { signing_keys: signingKeys } })
      try {
        const tag = String((await server.send('/token_keys')).headers['etag'])
        const [record] = await server.store.keys.list('svc')
        assert.ok(record)
        await server.store.keys.save('svc', { ...record, keyId: 'next', active: false })
        const answer = await server.send('/token_keys', { headers: { 'if-none-match': tag } })
        assert.equal(answer.status, 200)
        assert.equal(answer.json<{ keys: unknown[] }>().keys.length, 4)
      } finally {
        await server.stop()
      }
    })
  })

  describe(`a zone that never signed, ${mode}`, () => {
    it('makes one RS256 key when its keys are asked for, and keeps it', async () => {
      const server = await startServer({ mode })
      try {
        const answers = await Promise.all(Array.from({ length: 5 }, () => server.send('/token_keys')))
        assert.equal(new Set(answers.map(answer => answer.text)).size, 1)
        const { keys } = (answers[0] ?? assert.fail()).json<{ keys: readonly Jwk[] }>()
        assert.deepEqual(
          keys.map(({ alg, kty }) => [alg, kty]),
          [['RS256', 'RSA']],
        )
      } finally {
        await server.stop()
      }
    })
  })
}
