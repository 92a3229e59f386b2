/** Generated from the event types by `npm run generate`: do not edit. */

export const exampleEvents: Record<string, Record<string, unknown>> = {
  "score.updated": {
    "createdAt": "2026-05-14T09:00:00Z",
    "data": {
      "confidenceHigh": 778,
      "confidenceLow": 701,
      "evidenceCount": 18,
      "issuedAt": "2026-05-14T09:00:00Z",
      "score": 742,
      "scoreVcSha256": "5198254e5730f1642c3bdf23cb57b7d642ca869c92dd949a88e491e661d8f2a2",
      "scoreVcStatusToken": "1a7674eb4ee78df7e1ac439a93c3fa8e3c945784d4dec9fd8e3011738b2f1d62",
      "snapshotId": "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4",
      "sourceCount": 5,
      "workerId": "0d4f9c52-6a3b-4c1e-9f27-8b5a1c2d3e4f"
    },
    "id": "evt_019e25b6d6807e9da7161a3defe7e2b4",
    "schemaVersion": "service.webhook_event.v1",
    "type": "score.updated"
  },
  "score.revised": {
    "createdAt": "2026-05-14T09:00:00Z",
    "data": {
      "confidenceHigh": 778,
      "confidenceLow": 701,
      "disputeId": "5b0e7a31-2c94-4d68-8e1f-7a6b5c4d3e2f",
      "evidenceCount": 18,
      "issuedAt": "2026-05-14T09:00:00Z",
      "previousScore": 781,
      "previousScoreVcSha256": "bd0fc1266ac1f48f7265bf16d3c679b0bbbe7aa6827cda44b530f18589a457a7",
      "previousScoreVcStatusToken": "3c945784d4dec9fd8e3011738b2f1d621a7674eb4ee78df7e1ac439a93c3fa8e",
      "previousSnapshotId": "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
      "reason": "dispute_upheld",
      "revisedAt": "2026-05-14T09:00:00Z",
      "score": 742,
      "scoreVcSha256": "5198254e5730f1642c3bdf23cb57b7d642ca869c92dd949a88e491e661d8f2a2",
      "scoreVcStatusToken": "1a7674eb4ee78df7e1ac439a93c3fa8e3c945784d4dec9fd8e3011738b2f1d62",
      "snapshotId": "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4",
      "sourceCount": 5,
      "workerId": "0d4f9c52-6a3b-4c1e-9f27-8b5a1c2d3e4f"
    },
    "id": "evt_019e25b6d6807f4fb4fdeacaa8473dab",
    "schemaVersion": "service.webhook_event.v1",
    "type": "score.revised"
  },
  "evidence.revoked": {
    "createdAt": "2026-05-14T09:00:00Z",
    "data": {
      "evidenceCount": 18,
      "evidenceId": "c7d1e2f3-4a5b-4c6d-8e7f-9a0b1c2d3e4f",
      "evidenceType": "work_product",
      "reason": "source_invalid",
      "revokedAt": "2026-05-14T09:00:00Z",
      "scoreVcSha256": "bd0fc1266ac1f48f7265bf16d3c679b0bbbe7aa6827cda44b530f18589a457a7",
      "scoreVcStatusToken": "3c945784d4dec9fd8e3011738b2f1d621a7674eb4ee78df7e1ac439a93c3fa8e",
      "skillIds": [
        "hss:typescript"
      ],
      "snapshotId": "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
      "sourceCount": 5,
      "workerId": "0d4f9c52-6a3b-4c1e-9f27-8b5a1c2d3e4f"
    },
    "id": "evt_019e25b6d6807c8a87b058ac494d38e7",
    "schemaVersion": "service.webhook_event.v1",
    "type": "evidence.revoked"
  },
  "dispute.opened": {
    "createdAt": "2026-05-14T09:00:00Z",
    "data": {
      "disputeId": "5b0e7a31-2c94-4d68-8e1f-7a6b5c4d3e2f",
      "kind": "evidence",
      "openedAt": "2026-05-14T09:00:00Z",
      "restricted": true,
      "snapshotId": "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
      "workerId": "0d4f9c52-6a3b-4c1e-9f27-8b5a1c2d3e4f"
    },
    "id": "evt_019e25b6d68072cb8939b9c47ab0bce4",
    "schemaVersion": "service.webhook_event.v1",
    "type": "dispute.opened"
  },
  "dispute.resolved": {
    "createdAt": "2026-05-14T09:00:00Z",
    "data": {
      "disputeId": "5b0e7a31-2c94-4d68-8e1f-7a6b5c4d3e2f",
      "kind": "evidence",
      "openedAt": "2026-05-12T14:30:00Z",
      "resolution": "upheld",
      "resolvedAt": "2026-05-14T09:00:00Z",
      "restricted": true,
      "resultingSnapshotId": "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4",
      "scoreChanged": true,
      "snapshotId": "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
      "workerId": "0d4f9c52-6a3b-4c1e-9f27-8b5a1c2d3e4f"
    },
    "id": "evt_019e25b6d6807072a94707e25c759a7f",
    "schemaVersion": "service.webhook_event.v1",
    "type": "dispute.resolved"
  },
  "candidate.consent_changed": {
    "createdAt": "2026-05-14T09:00:00Z",
    "data": {
      "consentVersion": 4,
      "effectiveAt": "2026-05-14T09:00:00Z",
      "granted": false,
      "permission": "search_listing",
      "previousGranted": true,
      "workerId": "0d4f9c52-6a3b-4c1e-9f27-8b5a1c2d3e4f"
    },
    "id": "evt_019e25b6d68074eb955d0fb5a0a970f9",
    "schemaVersion": "service.webhook_event.v1",
    "type": "candidate.consent_changed"
  }
}
