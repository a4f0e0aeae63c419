select customer_id, sum(total) as open_total from {{ ref('open_orders') }} group by customer_id
