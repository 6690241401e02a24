import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Protocol } from '../../src/records/protocols.ts'
import { PROTOCOLS } from '../../src/records/protocols.ts'
import { FOREIGN_ALGORITHMS } from '../../src/token/foreign-keys.ts'
import { startServer } from '../support/server.ts'

type Members = Readonly<Record<string, unknown>>

/** What discovery tells of each protocol that the zone speaks, at the base URL of the tests. */
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

describe('discovery metadata of newer protocols', () => {
  for (const [protocol, members] of Object.entries(MEMBERS)) {
    it(`is ${Object.keys(members).join(', ')} for ${protocol}, where the zone speaks it`, async () => {
      const none = await reported('standard', all(false))
      const spoken = await reported('standard', { ...all(false), [protocol]: true })
      const isOther = ([name, value]: [string, unknown]): boolean =>
        JSON.stringify(value) !== JSON.stringify(none[name])
      assert.deepEqual(Object.fromEntries(Object.entries(spoken).filter(isOther)), members)
    })
  }

  it('is nothing in uaa, even where the zone supports them all (N1)', async () => {
    assert.deepEqual(await reported('uaa', all(true)), await reported('uaa', {}))
  })
})
