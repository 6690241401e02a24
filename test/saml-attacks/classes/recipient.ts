import type { AttackClass, Means } from '../attack.ts'
import { genuine, signedResponse } from '../forging.ts'

const to =
  (change: (recipient: string) => string | null) =>
  (means: Means): string =>
    genuine(means, { recipient: change(means.to.recipient), destination: means.to.recipient })
const sentTo =
  (change: (recipient: string) => string | null) =>
  (means: Means): string =>
    signedResponse(means, { destination: change(means.to.recipient) })

const OTHERS: readonly (readonly [name: string, change: (recipient: string) => string | null])[] = [
  ['another URL', () => 'https://other.example/saml/SSO'],
  ['none', () => null],
  ['an empty one', () => ''],
  ['another path of the same server', url => new URL('/elsewhere', url).href],
  ['the URL and more', url => `${url}/more`],
  ['the URL and a query', url => `${url}?x=y`],
  ['a part of the URL', url => url.slice(0, -1)],
  ['another host', url => url.replace('://', '://other.')],
  ['the host with a name before it', url => url.replace('://', '://mallory@')],
  ['a relative URL', url => new URL(url).pathname],
]

/** Messages for another endpoint. */
export const recipient: AttackClass = {
  name: 'wrong recipient or destination',
  sources: ['SAML Profiles 4.1.4.3', 'SAML Bindings 3.5.5.2', 'RFC 7522 3 (5)'],
  controls: [
    { name: 'the URL of the endpoint', forge: genuine },
    {
      name: 'an unsigned response without destination',
      only: 'acs',
      forge: means => genuine(means, { destination: null }),
    },
  ],
  attacks: [
    ...OTHERS.map(([name, change]) => ({ name: `recipient: ${name}`, reasons: ['recipient'], forge: to(change) })),
    ...OTHERS.map(([name, change]) => ({
      name: `destination of a signed response: ${name}`,
      only: 'acs' as const,
      reasons: ['destination'],
      forge: sentTo(change),
    })),
    {
      name: 'destination of an unsigned response: another URL',
      only: 'acs',
      reasons: ['destination'],
      forge: means => genuine(means, { destination: 'https://other.example/saml/SSO' }),
    },
    {
      name: 'destination of an unsigned response: an empty one',
      only: 'acs',
      reasons: ['destination'],
      forge: means => genuine(means, { destination: '' }),
    },
    {
      name: 'the other endpoint of the same server',
      reasons: ['recipient'],
      forge: means =>
        to(url =>
          means.endpoint === 'acs'
            ? url.replace('/saml/SSO/', '/oauth/token/')
            : url.replace('/oauth/token/', '/saml/SSO/'),
        )(means),
    },
  ],
}
