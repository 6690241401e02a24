import type { CDPSession, Page } from 'playwright-core'

/** An authenticator of the browser's own making, which holds passkeys and answers for its user. */
export interface VirtualAuthenticator {
  /** The credentials that it holds. */
  credentials(): Promise<readonly { readonly credentialId: string; readonly userHandle?: string }[]>
  /** Whether its user touches it at once when it is asked. */
  answers(isPresent: boolean): Promise<void>
  /** Whether it verifies its user from now on, as with a finger that it does not know. */
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
