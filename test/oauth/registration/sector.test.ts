import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OutboundError } from '../../../src/base/outbound/error.ts'
import { checkSector } from '../../../src/oauth/registration/sector.ts'

const client = {
  sectorIdentifierUri: 'https://sector.example/uris.json',
  redirectUris: ['https://a.example/cb', 'https://b.example/cb'],
}
const answering = (value: unknown) => ({ getJson: () => Promise.resolve({ value, headers: new Headers() }) })
const failing = {
  getJson: () => Promise.reject(new OutboundError('forbidden', 'resolves to an address that is not allowed')),
}

describe('Document of sector_identifier_uri', () => {
  it('must contain all redirect URIs, and may contain more', async () => {
    const more = answering([...client.redirectUris, 'https://c.example/cb'])
    await assert.doesNotReject(checkSector('svc', client, more))
    await assert.doesNotReject(checkSector('svc', { redirectUris: client.redirectUris }, failing)) // the document is not fetched
  })

  for (const [name, value] of [
    ['lacks a redirect URI', client.redirectUris.slice(1)],
    ['has a redirect URI with another path', ['https://a.example/cb', 'https://b.example/other']],
    ['is not an array', { redirect_uris: client.redirectUris }],
    ['is a string', client.redirectUris.join(' ')],
    ['is null', null],
  ] as const) {
    it(`is refused if it ${name}`, async () => {
      await assert.rejects(checkSector('svc', client, answering(value)), {
        error: 'invalid_client_metadata',
        message: 'sector_identifier_uri does not name every redirect URI',
      })
    })
  }

  it('is refused if it cannot be fetched, without the reason', async () => {
    await assert.rejects(checkSector('svc', client, failing), {
      error: 'invalid_client_metadata',
      message: 'sector_identifier_uri cannot be read',
    })
  })
})
