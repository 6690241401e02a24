import type { CDPSession, Page } from 'playwright-core'

/** A virtual authenticator of the browser, which stores passkeys and simulates its user. */
export interface VirtualAuthenticator {
  /** The credentials that it holds. */
  credentials(): Promise<readonly { readonly credentialId: string; readonly userHandle?: string }[]>
  /** Whether its user confirms requests immediately. */
  answers(isPresent: boolean): Promise<void>
  /** Sets whether user verification succeeds from now on. */
  verifies(isVerified: boolean): Promise<void>
}

/** Plugs one into the page (Chrome DevTools Protocol, WebAuthn): part of the device, with discoverable credentials. */
export async function addVirtualAuthenticator(page: Page): Promise<VirtualAuthenticator> {
  const cdp: CDPSession = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable', { enableUI: false })
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    credentials: async () => (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
    async answers(enabled) {
      await cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled })
    },
    async verifies(isUserVerified) {
      await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })
    },
  }
}
