/**
 * The official Express middleware with the same payments: it keeps no ledger. It takes its task
 * from the first message.
 */
import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import express from 'express'

process.once('message', ({ facilitator, payTo, amount, asset, path, body }) => {
  const client = new HTTPFacilitatorClient({ url: facilitator })
  const server = new x402ResourceServer(client).register('eip155:84532', new ExactEvmScheme())
  const price = {
    amount,
    asset: asset.address,
    extra: { name: asset.name, version: asset.version },
  }
  const accepts = { scheme: 'exact', network: 'eip155:84532', payTo, price }
  const app = express()
  app.use(paymentMiddleware({ [`GET ${path}`]: { accepts, description: 'One score' } }, server))
  app.get(path, (_, response) => void response.type('json').send(body))
  const listening = app.listen(0, '127.0.0.1', () =>
    process.send({ port: listening.address().port }),
  )
})
process.once('disconnect', () => process.exit(0))
