import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { clientFromJson, clientToJson } from '../../src/clients/client-json.ts'
import { mergedJson, updatedClient } from '../../src/clients/client-update.ts'
import type { Client } from '../../src/model/clients/client.ts'
import { serviceNamed } from '../../src/model/service.ts'
import { client, fullClient } from '../store/records.ts'
import { clientRecords, documented } from '../support/client-records.ts'

const rules = { service: serviceNamed('svc'), exactRedirectUri: true, furtherProtocols: true }
const later = new Date('2031-01-01T00:00:00Z')

const made = (json: Readonly<Record<string, unknown>>): Client => {
  const { definition, problems } = clientFromJson(json, rules, { as: 'created', withSecondSecret: true })
  assert.deepEqual(problems, [])
  return { ...definition, zoneId: 'svc', secrets: [], createdAt: later, updatedAt: later }
}

describe('A client record', () => {
  it('is returned as documented if valid', () => {
    fc.assert(
      fc.property(clientRecords, json => {
        assert.deepEqual(clientToJson(made(json)), { ...documented(json), lastModified: later.getTime() })
      }),
    )
  })

  it('is unchanged after being read and written back', () => {
    fc.assert(
      fc.property(clientRecords, json => {
        const stored = made(json)
        const { definition, problems } = clientFromJson(mergedJson(stored, clientToJson(stored)), rules, {
          as: 'updated',
          withSecondSecret: false,
        })
        assert.deepEqual(problems, [])
        const { allowPublic, ...left } = stored
        // Sent again, `false` removes it.
        assert.deepEqual(
          updatedClient(stored, definition, later),
          allowPublic === true ? { ...left, allowPublic } : left,
        )
      }),
    )
  })

  it('is unchanged after an empty update', () => {
    const stored = client({ ...fullClient, allowPublic: true, accessTokenSeconds: 60, refreshTokenSeconds: 60 })
    const json = mergedJson(stored, { client_id: stored.clientId })
    const { definition, problems } = clientFromJson(json, rules, { as: 'updated', withSecondSecret: false })
    assert.deepEqual(problems, [])
    const want = { ...stored, authorizedGrantTypes: ['client_credentials', 'password', 'refresh_token'] }
    assert.deepEqual(updatedClient(stored, definition, stored.updatedAt), want)
  })

  it('never causes an internal error', () => {
    const keys = Object.keys({ ...clientToJson(client(fullClient)), client_secret: 1, jwks: 1, jwks_uri: 1 })
    const json = fc.dictionary(fc.oneof(fc.constantFrom(...keys), fc.string()), fc.jsonValue({ maxDepth: 4 }))
    fc.assert(
      fc.property(json, fc.boolean(), (body, withSecondSecret) => {
        for (const as of ['configured', 'created', 'updated'] as const) {
          const { problems } = clientFromJson(body, rules, { as, withSecondSecret })
          for (const { message } of problems) assert.ok(message.length > 0)
        }
        clientFromJson(mergedJson(client(fullClient), body), rules, { as: 'updated', withSecondSecret: false })
      }),
    )
  })
})

describe('A client update', () => {
  const stored = client({
    scope: ['a', 'b'],
    autoapprove: ['a', 'b'],
    authorizedGrantTypes: ['client_credentials'],
    createdWith: 'zones.write',
    additional: { note: 1 },
    jwks: '{"keys":[]}',
    secrets: [{ hash: 'h', revision: 'r' }],
  })
  const updated = (json: Readonly<Record<string, unknown>>): Client => {
    const { definition, problems } = clientFromJson(mergedJson(stored, json), rules, {
      as: 'updated',
      withSecondSecret: false,
    })
    assert.deepEqual(problems, [])
    return updatedClient(stored, definition, later)
  }

  it('removes autoapprove entries that are no longer scopes', () => {
    assert.deepEqual(updated({ scope: ['b'] }).autoapprove, ['b'])
  })

  it('keeps a lifetime that is null or empty', () => {
    for (const nothing of [null, '']) {
      const merged = mergedJson(client({ accessTokenSeconds: 60 }), { access_token_validity: nothing })
      assert.equal(merged['access_token_validity'], 60)
    }
  })

  it('keeps and ignores read-only members', () => {
    const { createdWith, additional } = updated({ createdwith: 'me', note: null, resource_ids: ['x'] })
    assert.deepEqual([createdWith, additional], ['zones.write', {}])
  })

  it('keeps secrets, and keys unless others are sent', () => {
    const { secrets, jwks, jwksUri, createdAt, updatedAt } = updated({ client_secret: 'x', jwks: null, jwks_uri: null })
    assert.deepEqual([secrets, jwks, jwksUri], [stored.secrets, stored.jwks, undefined])
    const moved = updated({ jwks_uri: 'https://a.example/' })
    assert.deepEqual([moved.jwks, moved.jwksUri], [undefined, 'https://a.example/'])
    const back = updatedClient(moved, updated({ jwks: { kty: 'EC', kid: 'a' } }), later)
    assert.deepEqual([back.jwks, back.jwksUri], ['{"keys":[{"kty":"EC","kid":"a"}]}', undefined])
    assert.deepEqual([createdAt, updatedAt], [stored.createdAt, later])
  })

  it('keeps jwt_creds unless sent, and removes them by an empty list', () => {
    const entry = { sub: 's', iss: 'https://issuer.example' }
    const trusting = { ...stored, jwtCreds: [entry] }
    const after = (json: Readonly<Record<string, unknown>>): unknown => {
      const merged = mergedJson(trusting, json)
      const { definition, problems } = clientFromJson(merged, rules, { as: 'updated', withSecondSecret: false })
      assert.deepEqual(problems, [])
      return updatedClient(trusting, definition, later).jwtCreds
    }
    assert.deepEqual(after({}), [entry])
    assert.deepEqual(after({ jwt_creds: null }), [entry])
    assert.deepEqual(after({ jwt_creds: [{ ...entry, aud: 'a' }] }), [{ ...entry, aud: 'a' }])
    assert.equal(after({ jwt_creds: [] }), undefined)
    assert.equal(after({ jwt_creds: '[]' }), undefined)
  })

  for (const [key, value] of [
    ['scope', false],
    ['authorities', 0],
    ['redirect_uri', true],
    ['access_token_validity', ' '],
    ['access_token_validity', []],
    ['refresh_token_validity', false],
  ] as const) {
    it(`rejects ${JSON.stringify(value)} as ${key}`, () => {
      const json = mergedJson(stored, { [key]: value })
      const { problems } = clientFromJson(json, rules, { as: 'updated', withSecondSecret: false })
      assert.deepEqual(
        problems.map(problem => problem.key),
        [key],
      )
    })
  }
})
