import type { AttackClass } from '../attack.ts'
import { genuine, signedResponse } from '../forging.ts'

const UNKNOWN = '_00000000000000000000000000000000'

/** Responses to another request, which would sign another user in. */
export const inResponseTo: AttackClass = {
  name: 'wrong InResponseTo',
  sources: ['SAML Profiles 4.1.4.3', 'SAML Security Considerations 6.4'],
  controls: [{ name: 'the request that was sent', isAnswer: true, forge: genuine }],
  attacks: [
    {
      name: 'another request',
      only: 'acs',
      isAnswer: true,
      reasons: ['in-response-to'],
      forge: means => genuine(means, { inResponseTo: UNKNOWN }),
    },
    {
      name: 'another request, the response signed',
      only: 'acs',
      isAnswer: true,
      reasons: ['in-response-to'],
      forge: means => signedResponse(means, { inResponseTo: UNKNOWN }),
    },
    {
      name: 'another request in the confirmation only',
      only: 'acs',
      isAnswer: true,
      reasons: ['in-response-to'],
      forge: means =>
        signedResponse(means, { inResponseTo: UNKNOWN, responseInResponseTo: means.parts.inResponseTo ?? null }),
    },
    {
      name: 'another request in the response only',
      only: 'acs',
      isAnswer: true,
      reasons: ['in-response-to'],
      forge: means => genuine(means, { responseInResponseTo: UNKNOWN }),
    },
    {
      name: 'an empty value',
      only: 'acs',
      isAnswer: true,
      reasons: ['in-response-to'],
      forge: means => genuine(means, { inResponseTo: '' }),
    },
    {
      name: 'the request id with a blank',
      only: 'acs',
      isAnswer: true,
      reasons: ['in-response-to'],
      forge: means => genuine(means, { inResponseTo: `${means.parts.inResponseTo ?? UNKNOWN} ` }),
    },
  ],
}
