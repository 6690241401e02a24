import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Protocol } from '../../src/records/protocols.ts'
import { PROTOCOLS } from '../../src/records/protocols.ts'
import { FOREIGN_ALGORITHMS } from '../../src/token/foreign-keys.ts'
import { KEYS } from '../support/keys.ts'
import { startServer } from '../support/server.ts'

type Members = Readonly<Record<string, unknown>>

/** The discovery members of each protocol if it is enabled in the zone, with the base URL of the tests. */
const MEMBERS: { readonly [P in Protocol]?: Members } = {
  requestObjects: {
    request_parameter_supported: true,
    request_uri_parameter_supported: true,
    require_request_uri_registration: true,
    request_object_signing_alg_values_supported: FOREIGN_ALGORITHMS,
  },
  pushedRequests: {
    pushed_authorization_request_endpoint: 'http://localhost:8080/oauth/par',
    require_pushed_authorization_requests: false,
  },
  signedResponses: {
    response_modes_supported: ['query', 'fragment', 'form_post', 'query.jwt', 'fragment.jwt', 'form_post.jwt', 'jwt'],
    authorization_signing_alg_values_supported: ['RS256'],
  },
  frontchannelLogout: { frontchannel_logout_supported: true, frontchannel_logout_session_supported: true },
  backchannelLogout: { backchannel_logout_supported: true, backchannel_logout_session_supported: true },
  signedIntrospection: { introspection_signing_alg_values_supported: ['RS256'] },
  signedUserinfo: { userinfo_signing_alg_values_supported: ['RS256'] },
  pairwiseSubjects: { subject_types_supported: ['public', 'pairwise'] },
}

async function reported(mode: 'standard' | 'uaa', protocols: Readonly<Record<string, boolean>>): Promise<Members> {
  const server = await startServer({ mode, config: { zone_config: { protocols } } })
  try {
    return (await server.send('/.well-known/openid-configuration')).json()
  } finally {
    await server.stop()
  }
}

const all = (value: boolean) => Object.fromEntries(Object.keys(PROTOCOLS).map(name => [name, value]))

describe('Discovery metadata of newer protocols', () => {
  for (const [protocol, members] of Object.entries(MEMBERS)) {
    it(`contain ${Object.keys(members).join(', ')} if ${protocol} is enabled`, async () => {
      const none = await reported('standard', all(false))
      const enabled = await reported('standard', { ...all(false), [protocol]: true })
      const isOther = ([name, value]: [string, unknown]): boolean =>
        JSON.stringify(value) !== JSON.stringify(none[name])
      assert.deepEqual(Object.fromEntries(Object.entries(enabled).filter(isOther)), members)
    })
  }

  it('are unchanged in uaa, even if all are enabled (N1)', async () => {
    assert.deepEqual(await reported('uaa', all(true)), await reported('uaa', {}))
  })
})

describe('Discovery metadata with a FAPI profile', () => {
  const algorithms = ['PS256', 'ES256', 'EdDSA', 'Ed25519']
  async function metadataOf(profile: string | undefined, mode: 'standard' | 'uaa' = 'standard'): Promise<Members> {
    const keys = { rsa: KEYS.RS256, ec: KEYS.ES256 }
    const config = {
      zone_config: { ...(profile !== undefined && { profile }) },
      signing_keys: { active: 'rsa', keys },
      listen: { trusted_proxies: ['127.0.0.1'] },
      mutual_tls: {},
    }
    const server = await startServer({ mode, config })
    try {
      const discovery = await server.send('/.well-known/openid-configuration')
      const document = discovery.json<Members>()
      if (mode === 'uaa') return document
      const resource = await server.send('/.well-known/oauth-protected-resource')
      const { headers } = await server.send('/userinfo', { headers: { authorization: 'DPoP x' } })
      const [, challenged = ''] = /algs="([^"]*)"/.exec(String(headers['www-authenticate'])) ?? []
      const own = resource.json<Members>()['dpop_signing_alg_values_supported']
      return { ...document, own, challenged: challenged.split(' ') }
    } finally {
      await server.stop()
    }
  }

  it('list the restrictions of FAPI 1.0', async () => {
    const listed = await metadataOf('fapi1-advanced')
    assert.deepEqual(listed['response_types_supported'], ['code', 'code id_token'])
    assert.deepEqual(listed['code_challenge_methods_supported'], ['S256'])
    assert.deepEqual(listed['request_object_signing_alg_values_supported'], ['PS256', 'ES256'])
    assert.equal(listed['require_signed_request_object'], true)
    assert.equal(listed['require_pushed_authorization_requests'], false)
    assert.deepEqual([listed['dpop_signing_alg_values_supported'], listed['own']], [undefined, undefined])
  })

  it('list only what clients may use with FAPI 2.0 (RFC 8414 §2)', async () => {
    const listed = await metadataOf('fapi2-security')
    const methods = ['private_key_jwt', 'self_signed_tls_client_auth']
    for (const [name, values] of Object.entries({
      token_endpoint_auth_methods_supported: methods,
      introspection_endpoint_auth_methods_supported: methods,
      revocation_endpoint_auth_methods_supported: methods,
      token_endpoint_auth_signing_alg_values_supported: algorithms,
      request_object_signing_alg_values_supported: algorithms,
      dpop_signing_alg_values_supported: algorithms,
      own: algorithms,
      challenged: algorithms,
      userinfo_signing_alg_values_supported: ['ES256'],
      authorization_signing_alg_values_supported: ['ES256'],
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
    })) {
      assert.deepEqual([...(listed[name] as readonly string[])].sort(), [...values].sort(), name)
    }
    const grants = listed['grant_types_supported'] as readonly string[]
    assert.ok(grants.includes('authorization_code') && grants.includes('refresh_token'))
    for (const barred of ['password', 'implicit', 'user_token']) assert.ok(!grants.includes(barred), barred)
    const modes = listed['response_modes_supported'] as readonly string[]
    assert.ok(modes.includes('query') && modes.includes('jwt'))
  })

  it('always list RS256 for ID tokens (OpenID Connect Discovery §3)', async () => {
    assert.deepEqual((await metadataOf('fapi2-security'))['id_token_signing_alg_values_supported'], ['RS256', 'ES256'])
  })

  it('list only signed response modes for message signing', async () => {
    const modes = (await metadataOf('fapi2-message-signing'))['response_modes_supported'] as readonly string[]
    assert.deepEqual([...modes].sort(), ['form_post.jwt', 'fragment.jwt', 'jwt', 'query.jwt'])
  })

  it('are unchanged in uaa', async () => {
    assert.deepEqual(await metadataOf('fapi2-security', 'uaa'), await metadataOf(undefined, 'uaa'))
  })
})
